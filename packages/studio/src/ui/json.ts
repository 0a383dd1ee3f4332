/** JSON that somebody types. */
export type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

export function parsedJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${error instanceof Error ? error.message : ''}` };
  }
}

/** One kind of personal data: how it is found in normalised text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The characters that spans have taken. A lookup takes time by the length of one span, not by the number of spans. */
export class Taken {
  readonly #characters = new Set<number>();

  constructor(spans: Iterable<Span> = []) {
    for (const span of spans) this.add(span);
  }

  add({ start, end }: Span): void {
    for (let at = start; at < end; at++) this.#characters.add(at);
  }

  has(at: number): boolean {
    return this.#characters.has(at);
  }

  overlaps({ start, end }: Span): boolean {
    for (let at = start; at < end; at++) if (this.#characters.has(at)) return true;
    return false;
  }
}

/** The longest spans of which no two overlap. Of spans with the same length, the first counts. */
export function longestOf<T extends Span>(spans: readonly T[]): readonly T[] {
  const taken = new Taken();
  return spans
    .toSorted((a, b) => b.end - b.start - (a.end - a.start))
    .filter((span) => {
      if (taken.overlaps(span)) return false;
      taken.add(span);
      return true;
    });
}

/** A piece of text with the name of the field that holds it, which is context. */
export interface Scanned {
  readonly text: string;
  readonly field: string | null;
}

export interface Detector {
  /** The name in a document, such as `ssn`. The token has it in capitals. */
  readonly type: string;
  find(scanned: Scanned): readonly Span[];
}

export function* spansOf(pattern: RegExp, text: string): Generator<Span & { readonly match: RegExpExecArray }> {
  for (const match of text.matchAll(pattern)) yield { start: match.index, end: match.index + match[0].length, match };
}

export function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}

/** True if one of `words` is in the field's name or shortly before or behind the span. */
export function hasContext({ text, field }: Scanned, { start, end }: Span, words: RegExp): boolean {
  return (
    (field !== null && words.test(inWords(field))) ||
    words.test(inWords(text.slice(Math.max(0, start - 60), start))) ||
    words.test(inWords(text.slice(end, end + 25)))
  );
}

/** The words of `phone_number` and `homePhone`, apart. */
function inWords(text: string): string {
  return text.replace(/_/g, ' ').replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ');
}

/** No letter or digit touches the span: it is not a part of a longer word. */
export function standsAlone(text: string, { start, end }: Span): boolean {
  return (
    !/[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, start - 2), start)) &&
    !/^[\p{L}\p{N}_]/u.test(text.slice(end, end + 2))
  );
}

/** Fields with free text. Their names tell nothing about a number. */
const PLAIN_FIELD = /^(?:message|text|input|body|content|comment|answer|reply|question)$/i;

/** True if the span is the whole text, and no field name says what else the number is. */
export function isWholeText({ text, field }: Scanned, { start, end }: Span): boolean {
  return (
    (field === null || PLAIN_FIELD.test(field)) &&
    text.slice(0, start).trim() === '' &&
    /^[\s.!?]*$/.test(text.slice(end))
  );
}

/**
 * What `--input` says: `@file`, JSON or text, as each notation takes it. A graph gets an object as given and text as
 * `{ message }`; the others get the task as it was typed.
 */
import type { Json } from '../../expr/json.ts';
import { DiagnosticsError, renderAll } from './diagnostics.ts';
import { USAGE } from './exit-status.ts';
import { readText } from './files.ts';

export function readInput(given: string | undefined, notation: string): Json {
  const isFile = given?.startsWith('@') === true;
  const text = given === undefined ? undefined : isFile ? readText(given.slice(1)).replace(/\r?\n$/, '') : given;
  if (notation !== 'flow') return text ?? '';
  if (text === undefined) return {};
  // Only objects and lists count as JSON, so that a ticket number stays the text that was typed.
  return /^\s*[[{]/.test(text) ? parse(text, isFile ? given.slice(1) : '--input') : { message: text };
}

function parse(text: string, file: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    if (!/^\s*(\{\s*["}]|\[)/.test(text)) return { message: text };
    throw notJson(text, file, error instanceof Error ? error.message : '');
  }
}

/** Something that begins like JSON and is none is a slip, not a message; it is shown where it goes wrong. */
function notJson(text: string, file: string, message: string): DiagnosticsError {
  const position = Number(/at position (\d+)/.exec(message)?.[1] ?? text.length);
  const before = text.slice(0, position).split('\n');
  const diagnostic = {
    severity: 'error',
    code: 'bad-input',
    message: `the input begins like JSON, but is none: ${message.split(' in JSON')[0] ?? ''}`,
    file,
    line: before.length,
    column: (before[before.length - 1]?.length ?? 0) + 1,
    help: 'Quote the whole for your shell. A message that begins with a brace goes in as {"message": "…"}.',
  } as const;
  return new DiagnosticsError(
    { ok: false, diagnostics: [diagnostic] },
    (screen) => renderAll([diagnostic], text, screen),
    USAGE,
  );
}

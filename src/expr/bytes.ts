/**
 * UTF-8 and base64 without the host's encoders, which core does not have.
 */
import { EvalError } from './error.ts';

export function utf8(text: string): Uint8Array {
  const out: number[] = [];
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) out.push(code);
    else if (code < 0x800) out.push(0xc0 | (code >> 6), low(code));
    else if (code < 0x10000) out.push(0xe0 | (code >> 12), low(code >> 6), low(code));
    else out.push(0xf0 | (code >> 18), low(code >> 12), low(code >> 6), low(code));
  }
  return Uint8Array.from(out);
}

export function fromUtf8(data: Uint8Array): string {
  let text = '';
  for (let at = 0; at < data.length;) {
    const first = data[at] ?? 0;
    const extra = first < 0x80 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first >= 0x80 && (first < 0xc2 || first > 0xf4)) throw invalid();
    let code = extra === 0 ? first : first & (0x3f >> extra);
    for (let i = 1; i <= extra; i++) {
      const next = data[at + i];
      if (next === undefined || (next & 0xc0) !== 0x80) throw invalid();
      code = (code << 6) | (next & 0x3f);
    }
    const least = [0, 0x80, 0x800, 0x10000][extra] ?? 0;
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw invalid();
    text += String.fromCodePoint(code);
    at += extra + 1;
  }
  return text;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

export function base64(data: Uint8Array): string {
  let text = '';
  for (let at = 0; at < data.length; at += 3) {
    const bits = ((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0);
    for (let i = 0; i < 4; i++) text += at + i > data.length ? '=' : (ALPHABET[(bits >> (18 - 6 * i)) & 63] ?? '');
  }
  return text;
}

function low(code: number): number {
  return 0x80 | (code & 0x3f);
}

function invalid(): EvalError {
  return new EvalError('other', 'the bytes are not valid UTF-8');
}

/** Other readings of a text that hides a value: encoded, reversed, spelled out or split. */

const TOKEN_MIN = 6;
const READINGS_MAX = 200;

/** The hidden readings of a text. Each is looked for in what came from outside. */
export function disguisesOf(text: string): readonly string[] {
  const tokens = text.split(/\s+/).filter((token) => token.length >= TOKEN_MIN);
  const readings = [
    ...tokens.flatMap((token) => [percentDecoded(token), base64Decoded(token), reversed(token)]),
    reversed(text),
    spelled(text),
    joined(text),
  ];
  const distinct = new Set(readings.filter((each): each is string => each !== null && each.trim().length >= TOKEN_MIN));
  return [...distinct].filter((each) => each !== text).slice(0, READINGS_MAX);
}

function percentDecoded(token: string): string | null {
  if (!/%[0-9a-f]{2}/i.test(token)) return null;
  try {
    return decodeURIComponent(token);
  } catch {
    return null;
  }
}

function base64Decoded(token: string): string | null {
  const plain = token.replace(/[.,;:!?]+$/, '');
  if (!/^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(plain)) return null;
  const decoded = Buffer.from(plain, 'base64').toString('utf8');
  return /^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(decoded) ? decoded : null;
}

function reversed(text: string): string {
  return [...text].reverse().join('');
}

/** `b o s s at evil dot example` reads `boss@evil.example`. */
function spelled(text: string): string {
  return text
    .replace(/\s*[([]?\bat\b[)\]]?\s*/gi, '@')
    .replace(/\s*[([]?\bdot\b[)\]]?\s*/gi, '.')
    .replace(/(?<=\b\p{L}|\d)[\s-](?=\p{L}\b|\d)/gu, '');
}

/** Without the spaces, dots and dashes between single characters and parts. */
function joined(text: string): string {
  return text.replace(/[\s+"']+/g, '');
}

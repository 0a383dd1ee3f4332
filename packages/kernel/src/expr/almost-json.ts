/**
 * Reads replies that are almost JSON. Only spellings with one meaning are accepted: reasoning before the answer, comments, trailing
 * commas, other quotation marks, names without them, constants of Python and JavaScript, line breaks inside texts, missing closing
 * brackets at the end (not after a number or a word that may have been cut off), escaped quotation marks. A text that ends inside a string, a name that occurs twice and more than one object
 * are refused. The reader writes strict JSON text, so numbers, escapes and depth have the rules of every other text.
 */
import { sortedText } from './json.ts';
import { objectAt } from './objects.ts';
import { jsonOr, parseJson } from './parse-json.ts';

/** A reply with its object in strict JSON. The text around it stays. */
export interface Mended {
  readonly text: string;
  /** The object alone. */
  readonly object: string;
  /** What was repaired; empty if the object was strict already. */
  readonly how: readonly string[];
}

/** The reply with its one object. Null if there is none, if there are different ones, or if one is in braces that cannot be read. */
export function mended(reply: string): Mended | null {
  const body = withoutReasoning(reply);
  const marks = body === reply ? [] : ['reasoning before the answer'];
  return oneIn(body, marks) ?? oneIn(unescaped(body), [...marks, 'escaped quotation marks']);
}

/** The one strict object of the reply stands in braces that are no JSON: it is a part of the answer. */
export function isEnclosed(reply: string): boolean {
  return scan(withoutReasoning(reply)).enclosed;
}

interface Found {
  readonly start: number;
  readonly end: number;
  readonly object: string;
  readonly how: readonly string[];
}

function oneIn(body: string | null, marks: readonly string[]): Mended | null {
  if (body === null) return null;
  const { found, enclosed } = scan(body);
  if (enclosed) return null;
  const strict = different(found.filter(({ how }) => how.length === 0));
  const [only, ...more] = strict.length > 0 ? strict : different(found);
  if (only === undefined || more.length > 0) return null;
  const { start, end, object, how } = only;
  return { text: `${body.slice(0, start)}${object}${body.slice(end)}`, object, how: [...marks, ...how] };
}

/** Objects with the same content count once. */
function different(found: readonly Found[]): readonly Found[] {
  const byContent = new Map(found.map((each) => [sortedText(parseJson(each.object)), each]));
  return [...byContent.values()];
}

/** Braces that look like an object, cannot be read and have an object inside are `enclosed`. */
function scan(body: string): { readonly found: readonly Found[]; readonly enclosed: boolean } {
  const found: Found[] = [];
  const broken: { readonly from: number; readonly to: number }[] = [];
  // Limits the work on texts with many braces that open and never close.
  let work = 8 * body.length + 4096;
  for (let at = body.indexOf('{'); at >= 0;) {
    const read = readAt(body, at);
    work -= read.work;
    if (read.found !== null) found.push(read.found);
    else if (MEMBER.test(body.slice(at, at + MEMBER_MAX))) {
      const to = closing(body, at);
      work -= to - at;
      broken.push({ from: at, to });
    }
    if (work < 0) return { found: [], enclosed: false };
    at = body.indexOf('{', read.found?.end ?? at + 1);
  }
  const enclosed = broken.some(({ from, to }) => found.some(({ start }) => start > from && start < to));
  return { found, enclosed };
}

function readAt(body: string, start: number): { readonly found: Found | null; readonly work: number } {
  const { object: strict, work } = objectAt(body, start);
  if (strict !== null) {
    const found = isTooDeep(strict) ? null : { start, end: start + strict.length, object: strict, how: [] };
    return { found, work };
  }
  const reader = new Reader(body, start);
  const isRead = reader.object() && jsonOr(reader.written, null) !== null;
  const { at: end, written: object, how } = reader;
  return { found: isRead ? { start, end, object, how: [...how] } : null, work: work + end - start };
}

/** The levels of lists and objects that a value may have. */
const STRICT_DEPTH_MAX = 1000;

function isTooDeep(json: string): boolean {
  let depth = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth > STRICT_DEPTH_MAX) return true;
  }
  return false;
}

/** The beginning of an object: a name and a colon. */
const MEMBER = /^\{\s*(?:"[^"\n]*"|'[^'\n]*'|[\p{L}_$][\p{L}\p{N}_$-]*)\s*:/u;
const MEMBER_MAX = 300;

/** The place after the brace that closes the one at `start`, without regard to texts; the end of the text if none does. */
function closing(body: string, start: number): number {
  let depth = 0;
  for (let at = start; at < body.length; at++) {
    if (body[at] === '{') depth += 1;
    else if (body[at] === '}' && --depth === 0) return at + 1;
  }
  return body.length;
}

/**
 * Reasoning that a model writes into its reply is no part of the answer. Some servers cut the opening tag off: then all before the
 * closing one is reasoning. Without a closing tag, all after the opening one is.
 */
export function withoutReasoning(reply: string): string {
  let depth = 0;
  let from = 0;
  let answer = '';
  for (const { 0: tag, index } of reply.matchAll(/<\/?(?:think|thinking|reasoning)>/gi)) {
    const isOpening = tag[1] !== '/';
    if (depth === 0) answer = isOpening ? answer + reply.slice(from, index) : '';
    depth = isOpening ? depth + 1 : Math.max(0, depth - 1);
    from = index + tag.length;
  }
  return depth > 0 ? answer : answer + reply.slice(from);
}

/** A text that is written as a JSON text once more: within quotation marks, or only with backslashes. */
function unescaped(body: string): string | null {
  const whole = body.trim();
  if (!whole.includes('\\"')) return null;
  const quoted = whole.startsWith('"') && whole.endsWith('"') ? whole : `"${whole}"`;
  const text = jsonOr(quoted, null);
  return typeof text === 'string' ? text : null;
}

const CLOSING: { readonly [open: string]: string } = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”“"',
  '”': '”"',
  '„': '“”"',
  '‘': '’‘',
  '’': '’',
  '«': '»',
  '»': '«',
};
const CONSTANTS: { readonly [word: string]: string } = {
  true: 'true',
  false: 'false',
  null: 'null',
  True: 'true',
  False: 'false',
  TRUE: 'true',
  FALSE: 'false',
  None: 'null',
  NULL: 'null',
  Null: 'null',
  nil: 'null',
  undefined: 'null',
};
/** Words that are no text and have no JSON form. */
const NO_VALUE: ReadonlySet<string> = new Set(['NaN', 'Infinity', 'inf', 'nan', 'function', 'new']);
const DEPTH_MAX = 200;

/** Reads one object from a place on, and writes it as strict JSON. */
class Reader {
  at: number;
  written = '';
  readonly how = new Set<string>();
  readonly #text: string;
  #depth = 0;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  /** False if the text at this place cannot be read. */
  object(): boolean {
    if (++this.#depth > DEPTH_MAX) return false;
    const names = new Set<string>();
    this.#take('{');
    for (let isFirst = true; ; isFirst = false) {
      const ended = this.#endsOf('}', isFirst);
      if (ended !== null) return this.#close('}', ended, isFirst);
      if (!isFirst) this.written += ',';
      if (!this.#member(names)) return false;
      if (!this.#separated('}')) return false;
    }
  }

  #member(names: Set<string>): boolean {
    const before = this.written.length;
    if (!this.#name()) return false;
    const name = this.written.slice(before);
    if (names.has(name)) return false;
    names.add(name);
    if (!this.#blank() || this.#text[this.at] !== ':') return false;
    this.#take(':');
    return this.#value();
  }

  #list(): boolean {
    if (++this.#depth > DEPTH_MAX) return false;
    this.#take('[');
    for (let isFirst = true; ; isFirst = false) {
      const ended = this.#endsOf(']', isFirst);
      if (ended !== null) return this.#close(']', ended, isFirst);
      if (!isFirst) this.written += ',';
      if (!this.#value() || !this.#separated(']')) return false;
    }
  }

  /** `here`: the bracket is there. `missing`: it is missing at the end of the text. Null if a member follows. */
  #endsOf(bracket: string, isFirst: boolean): 'here' | 'missing' | null {
    if (!this.#blank()) return null;
    const char = this.#text[this.at];
    if (char === bracket) return 'here';
    if (isFirst) return null;
    if (this.#isOver()) return this.#isWhole() ? 'missing' : null;
    // A closing brace ends an open list too.
    return bracket === ']' && char === '}' ? 'missing' : null;
  }

  #close(bracket: string, ended: 'here' | 'missing', isFirst: boolean): boolean {
    this.#depth -= 1;
    if (ended === 'here') this.at += 1;
    else this.how.add('missing closing brackets');
    if (!isFirst && this.#comma) this.how.add('trailing commas');
    this.#comma = false;
    this.written += bracket;
    return true;
  }

  /** The last thing that was read is a comma. */
  #comma = false;

  /** After a member: a comma, the end, or nothing that can be read. */
  #separated(bracket: string): boolean {
    this.#comma = false;
    if (!this.#blank()) return false;
    if (this.#text[this.at] === ',') {
      this.at += 1;
      this.#comma = true;
      return true;
    }
    return this.#endsOf(bracket, false) !== null;
  }

  #value(): boolean {
    if (!this.#blank()) return false;
    const char = this.#text[this.at] ?? '';
    if (char === '{') return this.object();
    if (char === '[') return this.#list();
    if (char in CLOSING) return this.#string();
    return this.#number() || this.#word(true);
  }

  #name(): boolean {
    if (!this.#blank()) return false;
    return (this.#text[this.at] ?? '') in CLOSING ? this.#string() : this.#word(false);
  }

  /** Blanks and comments. False for a comment that does not end. */
  #blank(): boolean {
    const skip = /([\s\u200B]+)|\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\//y;
    for (;;) {
      skip.lastIndex = this.at;
      const match = skip.exec(this.#text);
      if (match === null) return !this.#text.startsWith('/*', this.at) || this.#fails();
      const blanks = match[1];
      if (blanks === undefined) this.how.add('comments');
      else if (/[^ \t\r\n]/.test(blanks)) this.how.add('other blanks');
      this.at = skip.lastIndex;
    }
  }

  /** The last value has its end. A number or a word at the very end of the text may be only its beginning: 4 of 49.50. */
  #isWhole(): boolean {
    return this.at === 0 || !/[\p{L}\p{N}_.$+-]$/u.test(this.#text.slice(0, this.at).slice(-2));
  }

  /** Nothing follows except the end of a fence. */
  #isOver(): boolean {
    const end = /\s*(?:`{3,}\s*)?$/y;
    end.lastIndex = this.at;
    return end.test(this.#text);
  }

  #string(): boolean {
    const open = this.#text[this.at] as string;
    const closers = CLOSING[open] as string;
    let content = '';
    for (let at = this.at + 1; at < this.#text.length; at++) {
      const char = this.#text[at] as string;
      if (closers.includes(char)) {
        if (open !== '"' || char !== '"')
          this.how.add(open === "'" ? 'single quotation marks' : 'other quotation marks');
        this.written += `"${content}"`;
        this.at = at + 1;
        return true;
      }
      if (char === '\\') {
        const escaped = escapeAt(this.#text[at + 1] ?? '');
        if (escaped === null) this.how.add('other escapes');
        content += escaped ?? JSON.stringify(this.#text[at + 1] ?? '').slice(1, -1);
        at += 1;
      } else {
        if (char < ' ') this.how.add('line breaks inside a text');
        content += JSON.stringify(char).slice(1, -1);
      }
    }
    return this.#fails();
  }

  /** All of the rest was read in vain. */
  #fails(): false {
    this.at = this.#text.length;
    return false;
  }

  #number(): boolean {
    const number = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_$.])/uy;
    number.lastIndex = this.at;
    const found = number.exec(this.#text)?.[0];
    if (found === undefined) return false;
    const strict = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(found);
    // A number that begins with zeros may be a code, and not an amount.
    if (/^[+-]?0\d/.test(found)) return false;
    if (!strict) this.how.add('numbers of another form');
    this.written += strict
      ? found
      : found
          .replace(/^\+/, '')
          .replace(/^(-?)\./, '$10.')
          .replace(/\.(?!\d)/, '');
    this.at += found.length;
    return true;
  }

  /** A constant, or a name without quotation marks. */
  #word(isValue: boolean): boolean {
    const word = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;
    word.lastIndex = this.at;
    const found = word.exec(this.#text)?.[0];
    if (found === undefined || (isValue && NO_VALUE.has(found))) return false;
    this.at += found.length;
    const constant = isValue && Object.hasOwn(CONSTANTS, found) ? CONSTANTS[found] : undefined;
    if (constant !== undefined && constant !== found) this.how.add('constants of another language');
    if (constant === undefined)
      this.how.add(isValue ? 'texts without quotation marks' : 'names without quotation marks');
    this.written += constant ?? JSON.stringify(found);
    return true;
  }

  #take(char: string): void {
    this.at += 1;
    this.written += char;
  }
}

/** Null for an escape that JSON does not know: it stands for its character. */
function escapeAt(char: string): string | null {
  return char !== '' && '"\\/bfnrtu'.includes(char) ? `\\${char}` : null;
}

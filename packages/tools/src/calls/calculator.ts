/** Evaluates arithmetic with a small grammar: no variables, no assignment, bounded nesting. */
import { fail } from '@sluice-internal/engine/ports';

const DEPTH_MAX = 100;
const TOKEN = /\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|[A-Za-z]\w*|\*\*|\S/g;
const CONSTANTS: { readonly [name: string]: number } = { pi: Math.PI, e: Math.E };
const FUNCTIONS: { readonly [name: string]: (...values: number[]) => number } = {
  abs: Math.abs,
  ceil: Math.ceil,
  floor: Math.floor,
  sqrt: Math.sqrt,
  exp: Math.exp,
  ln: Math.log,
  log: Math.log10,
  log2: Math.log2,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  min: Math.min,
  max: Math.max,
  pow: Math.pow,
  round: (value, digits = 0) => Math.round(value * 10 ** digits) / 10 ** digits,
};
/** The most arguments of functions that take more than one. */
const ARGUMENTS_MAX: { readonly [name: string]: number } = { min: Infinity, max: Infinity, pow: 2, round: 2 };

export function calculate(source: string): number {
  return new Calculation(source).result();
}

/** A recursive-descent parser that computes while it reads. */
class Calculation {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#tokens = source.match(TOKEN) ?? [];
  }

  result(): number {
    const value = this.#sum();
    if (this.#next !== undefined) throw invalid(`unexpected \`${this.#next}\``);
    if (!Number.isFinite(value)) throw invalid('the result is not a finite number');
    return value;
  }

  #sum(): number {
    return this.#nested(() => {
      let value = this.#product();
      for (;;) {
        if (this.#take('+')) value += this.#product();
        else if (this.#take('-')) value -= this.#product();
        else return value;
      }
    });
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take('*')) value *= this.#signed();
      else if (this.#take('/')) value /= this.#signed();
      else if (this.#take('%')) value %= this.#signed();
      else return value;
    }
  }

  #signed(): number {
    let sign = 1;
    for (;;) {
      if (this.#take('-')) sign = -sign;
      else if (!this.#take('+')) return sign * this.#power();
    }
  }

  #power(): number {
    const base = this.#atom();
    if (!this.#take('^') && !this.#take('**')) return base;
    return this.#nested(() => base ** this.#signed());
  }

  #atom(): number {
    const token = this.#next;
    if (token === undefined) throw invalid('it ends too early');
    this.#at += 1;
    if (token === '(') {
      const value = this.#sum();
      this.#expect(')');
      return value;
    }
    if (/^[\d.]/.test(token)) return Number(token);
    const name = token.toLowerCase();
    if (Object.hasOwn(CONSTANTS, name) && this.#next !== '(') return CONSTANTS[name] as number;
    if (!Object.hasOwn(FUNCTIONS, name)) throw invalid(`\`${token}\` is not known`);
    const values = this.#arguments();
    const most = ARGUMENTS_MAX[name] ?? 1;
    if (values.length > most) throw invalid(`\`${name}\` takes at most ${most} argument${most === 1 ? '' : 's'}`);
    return (FUNCTIONS[name] as (...values: number[]) => number)(...values);
  }

  #arguments(): number[] {
    this.#expect('(');
    const values = [this.#sum()];
    while (this.#take(',')) values.push(this.#sum());
    this.#expect(')');
    return values;
  }

  #nested(work: () => number): number {
    if ((this.#depth += 1) > DEPTH_MAX) throw invalid(`it is nested more than ${DEPTH_MAX} levels deep`);
    const value = work();
    this.#depth -= 1;
    return value;
  }

  get #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(token: string): boolean {
    if (this.#next !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (this.#take(token)) return;
    throw invalid(`expected \`${token}\`${this.#next === undefined ? ' at the end' : ` before \`${this.#next}\``}`);
  }
}

function invalid(why: string): Error {
  return fail('semantic', 'ExpressionError', `the expression cannot be evaluated: ${why}`);
}

/** Arithmetic, exactly as written: a small grammar, no variables, no assignment, nothing that could run for long. */
import type { ToolWork } from './tool.ts';
import { fail } from './tool.ts';

const DEPTH_MAX = 100;
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

export const calculator: ToolWork = ({ args }) => Promise.resolve({ value: calculate(args['expression'] as string) });

export function calculate(source: string): number {
  const tokens = source.match(/\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|[A-Za-z]\w*|\*\*|\S/g) ?? [];
  let at = 0;
  let depth = 0;
  const take = (token: string): boolean => tokens[at] === token && (at += 1) > 0;
  const expect = (token: string): void => {
    if (!take(token)) throw wrong(`expected \`${token}\`${here()}`);
  };
  const here = (): string => (tokens[at] === undefined ? ' at the end' : ` before \`${tokens[at]}\``);

  const sum = (): number => {
    if ((depth += 1) > DEPTH_MAX) throw wrong('it is nested too deeply');
    let value = product();
    for (;;) {
      if (take('+')) value += product();
      else if (take('-')) value -= product();
      else break;
    }
    depth -= 1;
    return value;
  };
  const product = (): number => {
    let value = signed();
    for (;;) {
      if (take('*')) value *= signed();
      else if (take('/')) value /= signed();
      else if (take('%')) value %= signed();
      else return value;
    }
  };
  const signed = (): number => {
    let sign = 1;
    while (tokens[at] === '-' || tokens[at] === '+') if (tokens[at++] === '-') sign = -sign;
    return sign * power();
  };
  const power = (): number => {
    const base = atom();
    if (!take('^') && !take('**')) return base;
    if ((depth += 1) > DEPTH_MAX) throw wrong('it is nested too deeply');
    const value = base ** signed();
    depth -= 1;
    return value;
  };
  const atom = (): number => {
    const token = tokens[at];
    if (token === undefined) throw wrong('it ends too early');
    at += 1;
    if (token === '(') {
      const value = sum();
      expect(')');
      return value;
    }
    if (/^[\d.]/.test(token)) return Number(token);
    const name = token.toLowerCase();
    if (Object.hasOwn(CONSTANTS, name) && tokens[at] !== '(') return CONSTANTS[name] as number;
    if (!Object.hasOwn(FUNCTIONS, name)) throw wrong(`\`${token}\` is not known`);
    expect('(');
    const values = [sum()];
    while (take(',')) values.push(sum());
    expect(')');
    return (FUNCTIONS[name] as (...values: number[]) => number)(...values);
  };

  const value = sum();
  if (at < tokens.length) throw wrong(`\`${tokens[at]}\` is not expected`);
  if (!Number.isFinite(value)) throw wrong('the result is not a finite number');
  return value;
}

function wrong(why: string): Error {
  return fail('semantic', 'ExpressionError', `the expression cannot be evaluated: ${why}`);
}

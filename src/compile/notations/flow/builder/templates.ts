/**
 * Templates of a flow, read as types: a hole that begins with `node.output` or `node.result` must name a node that leaves
 * it, and one that is nothing but such a path must name fields that are there. Every other expression is the compiler's.
 */
import type { Blank, Trimmed } from '../../builder-types/trimmed.ts';
import type { OneOf } from '../../builder-types/verified.ts';

export type CheckedTemplates<Value, Left> = unknown extends Value
  ? Value
  : Value extends string
    ? OneOf<Fault<Value, Left>, Value>
    : Value extends object
      ? { readonly [Key in keyof Value]: CheckedTemplates<Value[Key], Left> }
      : Value;

/** A sentence for each hole that names nothing. A quote or a brace may hide the end of a hole, so there the reading stops. */
type Fault<Text extends string, Left, Found = never> = Text extends `${string}{{${infer Hole}}}${infer Rest}`
  ? Hole extends `${string}${'"' | "'" | '{'}${string}`
    ? Found | FaultIn<Trimmed<Hole>, Left>
    : Fault<Rest, Left, Found | FaultIn<Trimmed<Hole>, Left>>
  : Found;

type FaultIn<Hole extends string, Left> = Hole extends `${infer Root}.${infer Path}`
  ? Path extends Kept | `${Kept}${'.' | Odd}${string}`
    ? Root extends keyof Left
      ? Path extends `${string}${Odd}${string}`
        ? never
        : NoField<Path, Left[Root], Root>
      : Root extends 'event' | 'approvals' | 'error' | '' | `${string}${Odd}${string}` | `${Digit}${string}`
        ? never
        : `there is no node ${Root}: write ${keyof Left & string}`
    : never
  : never;

type NoField<Path extends string, Value, At extends string> = unknown extends Value
  ? never
  : Path extends `${infer Field}.${infer Rest}`
    ? Field extends keyof Value
      ? NoField<Rest, Value[Field], `${At}.${Field}`>
      : Missing<Field, Value, At>
    : Path extends keyof Value
      ? never
      : Missing<Path, Value, At>;
type Missing<Field extends string, Value, At extends string> = `there is no ${Field} in ${At}${OneOf<
  `: write ${keyof Value & string}`,
  ''
>}`;

type Kept = 'output' | 'result';
/** What no identifier contains. */
type Odd = Blank | CharOf<'!"#$%&\'()*+,-/:;<=>?@[\\]^`{|}~'>;
type Digit = CharOf<'0123456789'>;
type CharOf<Text> = Text extends `${infer Char}${infer Rest}` ? Char | CharOf<Rest> : never;

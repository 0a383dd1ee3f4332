/**
 * Controls: the checks that a tool call passes before it is made, as data of its node. The core walks them in order. It knows
 * the four kinds (`how`) and no control by name.
 *
 * Expressions see the slots of the thread and `walk`: `reason` (of the refusal), `verdict` (all that the check returned), `doubt`
 * (why a check wants a person to decide), `approved` (a person has let the call pass), `answer` (of a person), and `now`, the
 * recorded time as ISO text.
 */
import type { FailureClass, TerminalCode } from './codes.ts';
import type { Amounts } from './dimensions.ts';
import type { AskEffect, Consequence, Expr, Input, NodeId } from './nodes.ts';

export interface Controls {
  readonly walk: readonly Control[];
  /** The slot, and the fields below it, that hold the arguments, if a control or a person may change them. */
  readonly args?: readonly [slot: string, ...path: string[]];
  /** The node after a refusal that the agent is told. The slot `refusal` has `step`, `tag` and `reason`. */
  readonly refused?: NodeId;
  /** The node after a refusal that fails the call. Default: the routes of a failure of the call. */
  readonly stopped?: NodeId;
  /** Calls of one reply reserve in the order of the reply: a call waits until no call before it is being checked. */
  readonly inOrder?: true;
}

export type Control = ExprControl | CheckControl | AskControl | MeterControl;

interface ControlOf<How extends string, With> {
  /** Its name, in events. */
  readonly control: string;
  readonly how: How;
  readonly with: With;
  /** The consequence of a refusal. */
  readonly onRefuse: Consequence;
  /** Its verdict may change with time: it judges once more after a person has answered. */
  readonly volatile?: true;
}

/** The first case that holds refuses the call. A condition that cannot be evaluated refuses it too. */
export type ExprControl = ControlOf<'expr', Refusing & { readonly cases: readonly RefusingCase[] }>;
/** Evidence from outside the core. Consecutive checks are performed together, as one call. */
export type CheckControl = ControlOf<
  'check',
  Refusing & {
    readonly check: string;
    /** Beside `tool` and `args`. */
    readonly input: Input;
    /** Its no is a doubt: the next question of the walk is asked. */
    readonly asks?: true;
    /** The worst case of performing it. */
    readonly reserve?: Amounts;
    /** The number of times that one call waits for it. Default: 0. */
    readonly waits?: number;
  }
>;
/** A question to a person. It is asked if `when` holds or a check has a doubt, unless a person has let the call pass. */
export type AskControl = ControlOf<
  'ask',
  Refusing &
    Asking & {
      readonly when?: Expr;
      /** The number of times that a person may change the arguments of one call. */
      readonly edits: number;
    }
>;
/** Tests the meters of the call and takes nothing. A meter without room leads where it always leads. */
export type MeterControl = ControlOf<'meter', Refusing>;

export interface RefusalError {
  readonly type: string;
  readonly class: FailureClass;
  readonly code: TerminalCode;
}

/** The words of a refusal. */
interface Refusing {
  /** The step that observations name. Default: the name of the control. */
  readonly step?: string;
  /** Stands in brackets before the reason. */
  readonly tag: string;
  /** Default: the reason that the control gives. */
  readonly reason?: Expr;
  readonly error: RefusalError;
  /** The question, where the consequence is `ask`. */
  readonly question?: Asking;
  /** The first that holds replaces the consequence. */
  readonly instead?: readonly Instead[];
}

export interface Instead {
  readonly when: Expr;
  readonly onRefuse: Consequence;
  readonly question?: Asking;
  readonly error?: RefusalError;
}

export interface RefusingCase {
  readonly when: Expr;
  readonly reason: Expr;
  readonly error?: RefusalError;
}

/** `pass`: the call passes. `edit`: the walk starts again with the arguments of the person. `tell`: the agent gets `told`. */
export type Way = 'pass' | 'edit' | 'tell';

/** A choice without a way refuses the call. */
export interface Asking {
  readonly ask: AskEffect;
  readonly timeoutMs: number | null;
  /** The slot that receives the answer. */
  readonly into?: string;
  readonly ways: { readonly [choice: string]: Way };
  readonly told?: { readonly step: string; readonly tag: string; readonly reason: Expr };
  /** The error if the person ends the turn. */
  readonly error?: RefusalError;
}

/** The name of the call that performs checks together. */
export const CONTROLS_CHECK = 'controls';

export type VerdictName = 'pass' | 'refuse' | 'ask' | 'wait' | 'stop';
/** A verdict as an event has it. */
export type Judged = readonly [control: string, verdict: VerdictName, reason?: string];

/** The questions that a walk can ask. */
export function asksOf({ walk }: Controls): readonly AskEffect[] {
  return walk.flatMap((control): AskEffect[] => {
    const { question, instead = [] } = control.with;
    const own = control.how === 'ask' ? [control.with.ask] : [];
    const others = [question, ...instead.map((each) => each.question)].flatMap((each) => each?.ask ?? []);
    return [...own, ...others];
  });
}

/** The errors that a refusal can end a call with. */
export function failuresOf({ walk, refused }: Controls): readonly RefusalError[] {
  return walk.flatMap(({ onRefuse, with: { error, question, instead = [], ...own } }) => {
    const cases = 'cases' in own ? own.cases.flatMap((each) => each.error ?? []) : [];
    const asked = [question, ...instead.map((each) => each.question)].flatMap((each) => each?.error ?? []);
    const others = instead.flatMap((each) => (each.onRefuse === 'tell' ? [] : [each.error ?? error]));
    return [...(onRefuse === 'tell' && refused !== undefined ? [] : [error]), ...cases, ...asked, ...others];
  });
}

/** The controls with other questions. */
export function withAsks(controls: Controls, change: (ask: AskEffect) => AskEffect): Controls {
  const asking = <Of extends Asking>(given: Of): Of => ({ ...given, ask: change(given.ask) });
  const changed = (control: Control): Control => {
    const { question, instead } = control.with;
    const more = {
      ...(question === undefined ? {} : { question: asking(question) }),
      ...(instead === undefined
        ? {}
        : {
            instead: instead.map((each) =>
              each.question === undefined ? each : { ...each, question: asking(each.question) },
            ),
          }),
    };
    if (control.how === 'ask') return { ...control, with: { ...asking(control.with), ...more } };
    return { ...control, with: { ...control.with, ...more } } as Control;
  };
  return { ...controls, walk: controls.walk.map(changed) };
}

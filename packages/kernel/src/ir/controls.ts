/** What follows from the data of controls: their questions, their errors, and the names in events. */
import type { AskEffect, Asking, Control, Controls, RefusalError } from './nodes.ts';

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

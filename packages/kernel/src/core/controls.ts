/**
 * The walk over the controls of a call. Each control gives a verdict: the call passes, is refused, waits, or a person is asked.
 * Checks are performed together, as one call; everything else follows from the graph and the state. The verdicts are one event,
 * in the same append as the request that follows. Nothing is reserved for the call before the last control has passed.
 */
import { reasonOf } from '../expr/error.ts';
import { isRecord } from '../expr/json.ts';
import type { Json } from '../expr/json.ts';
import type { Amounts, Dimension } from '../ir/dimensions.ts';
import { CONTROLS_CHECK } from '../ir/controls.ts';
import type { Judged } from '../ir/controls.ts';
import type {
  EffectKey,
  ErrorRecord,
  EventBody,
  Pending,
  Refused,
  RunState,
  Slots,
  Thread,
  Walk,
  WriteRecord,
} from '../ir/events.ts';
import { shortfall, stopsAtDeadline } from '../ir/meters.ts';
import type {
  AskControl,
  Asking,
  CheckControl,
  Control,
  Controls,
  DoNode,
  ExprControl,
  RefusalError,
  RefusingCase,
  Way,
} from '../ir/nodes.ts';
import { outOfTime } from './admit.ts';
import { declaredOf } from './declared.ts';
import { argsIn, deedsLike, markOf, shownDeeds } from './deeds.ts';
import { digest } from './digest.ts';
import { awaitsDrops } from './drops.ts';
import { isOver, isPast } from './due.ts';
import { authorOf, expressionError, route } from './failure.ts';
import { isBudgetError, meterAt, reserve } from './meters.ts';
import { evaluateInput } from './program.ts';
import type { Visit } from './program.ts';
import { questionOf, tooManyQuestions } from './question.ts';
import { threadOf } from './state.ts';
import { deadlineFrom, timesOf } from './timing.ts';
import { START, askingOf, checkInput, checksFrom, slotsOf } from './walk.ts';

/** The controls that the thread still has to pass; null if its call can be requested. */
export function controlsAhead({ walk = START }: Thread, { controls }: DoNode): Controls | null {
  return controls === undefined || walk.at >= controls.walk.length ? null : controls;
}

/** The next events of a walk. */
export function walkControls(visit: Visit<DoNode>, controls: Controls): readonly EventBody[] {
  const { program, state, thread } = visit;
  if ((isOver(state) && stopsAtDeadline(program.flow)) || isPast(state)) return outOfTime(state);
  const { walk = START } = thread;
  const asking = walk.asks === undefined ? null : askingOf(controls, walk);
  return asking === null ? new Round(visit, controls, null).events() : ask(visit, walk, asking);
}

/** The events after the check or the question of a walk has its result. */
export function judgeControls(visit: Visit<DoNode>, controls: Controls, pending: Pending): readonly EventBody[] {
  const { observed } = pending;
  if (observed === null) return [];
  const round = new Round(visit, controls, pending);
  if (pending.kind === 'ask') return round.answered(observed.ok ? observed.value : null);
  return observed.ok ? round.events(observed.value) : round.broken(observed.error.message);
}

/** True while a call before this one, in the same reply, is being checked: calls reserve in the order of the reply. */
export function waitsForSiblings(state: RunState, thread: Thread, { controls }: DoNode): boolean {
  if (controls?.inOrder !== true || thread.parent === null) return false;
  const prefix = thread.id.slice(0, thread.id.lastIndexOf('.') + 1);
  for (let index = 0; index < thread.index; index++) {
    const before = state.threads.get(`${prefix}${index}`);
    if (before?.doing.is === 'ready') return true;
    const pending = before?.doing.is === 'waiting' ? state.pending.get(before.doing.on) : undefined;
    if (pending?.kind !== 'check' || pending.control === undefined) continue;
    // A check that waits for a rate limit holds back no other call.
    if (pending.observed !== null || pending.notBefore <= state.now) return true;
  }
  return false;
}

/** The call is not made if one before it, in the same reply, no longer fits: calls are taken in order. */
export function stoppedBefore({ program, state, thread, node }: Visit<DoNode>): readonly EventBody[] | null {
  const { controls } = node;
  if (controls?.inOrder !== true || thread.parent === null) return null;
  const { doing } = threadOf(state, thread.parent);
  if (doing.is !== 'forked') return null;
  const before = doing.fork.outcomes.slice(0, thread.index).map((outcome) => outcome?.error);
  const error = before.find(isBudgetError);
  if (error === undefined) return null;
  const to = controls.stopped ?? route({ program, thread }, node, error);
  const judged = controls.walk.flatMap(({ how, control }): Judged[] =>
    how === 'meter' ? [[control, 'stop', error.message]] : [],
  );
  const again = thread.walk === undefined ? undefined : (true as const);
  return [{ type: 'call.judged', thread: thread.id, node: thread.at, controls: judged, again, error, to }];
}

type Verdict = { readonly [field: string]: Json };

/** The verdict of a control. A check may give one verdict for all of them. */
function verdictOf(value: Json, control: string): Verdict {
  if (!isRecord(value)) return MISSING;
  const { verdicts = null } = value;
  const own = isRecord(verdicts) ? (verdicts[control] ?? null) : value;
  return isRecord(own) && typeof own['ok'] === 'boolean' ? own : MISSING;
}

/** One stretch of a walk, from a control to the next question or to the end. It becomes one event. */
class Round {
  readonly #visit: Visit<DoNode>;
  readonly #controls: Controls;
  readonly #pending: Pending | null;
  readonly #judged: Judged[] = [];
  readonly #writes: WriteRecord[] = [];
  #slots: Slots;
  #walk: Walk;

  constructor(visit: Visit<DoNode>, controls: Controls, pending: Pending | null) {
    this.#visit = visit;
    this.#controls = controls;
    this.#walk = visit.thread.walk ?? START;
    this.#slots = visit.thread.slots;
    this.#pending = pending;
  }

  /** `verdicts` is the result of the checks; without it, checks are requested. */
  events(verdicts?: Json): readonly EventBody[] {
    this.#takeArgs();
    const { walk: list } = this.#controls;
    for (let at = this.#walk.at; at < list.length; at++) {
      const control = list[at] as Control;
      if (this.#walk.again === true && control.volatile !== true) continue;
      if (control.how === 'check' && verdicts === undefined) return this.#perform(at);
      const stopped = this.#judge(control, at, verdicts ?? null);
      if (stopped !== null) return stopped;
    }
    const { approved } = this.#walk;
    return [this.#goOn({ at: list.length, ...(approved === undefined ? {} : { approved }) })];
  }

  /** The checks could not be performed, so the first of them refuses the call. */
  broken(reason: string): readonly EventBody[] {
    const at = this.#pending?.control ?? 0;
    return this.#refuse(this.#controls.walk[at] as Control, at, { reason });
  }

  answered(answer: Json): readonly EventBody[] {
    const { at, asks, refused } = this.#walk;
    const control = this.#controls.walk[at] as Control;
    const asking = askingOf(this.#controls, this.#walk);
    const { choice = '', edit = null } = isRecord(answer) ? answer : {};
    const way = asking?.ways[String(choice)];
    if (asking?.into !== undefined) this.#write([asking.into], ['it'], answer);
    if (way === 'tell' && asking?.told !== undefined) {
      const { reason, ...words } = asking.told;
      return this.#tell(control, { ...words, reason: this.#text(reason, { answer, ...refused }) });
    }
    if (asks === 'refusal') return this.#fail(control, refused?.reason ?? '', asking?.error ?? control.with.error);
    return this.#decided(control, way, edit);
  }

  /** A person lets the call pass, changes its arguments or rejects it. */
  #decided(control: Control, way: Way | undefined, edit: Json): readonly EventBody[] {
    const { at, edits = 0 } = this.#walk;
    const approved = this.#pending?.question?.id ?? '';
    if (way === 'edit' && isRecord(edit) && control.how === 'ask' && edits < control.with.edits) {
      this.#judged.push([control.control, 'pass']);
      this.#write(this.#controls.args ?? [], ['it', 'edit'], edit);
      return [this.#goOn({ at: 0, approved, edits: edits + 1, ...this.#told() })];
    }
    if (way !== 'pass') return this.#refuse(control, at, { reason: '' });
    this.#judged.push([control.control, 'pass']);
    const isDone = this.#controls.walk.every(({ volatile }) => volatile !== true);
    const next = isDone ? { at: this.#controls.walk.length } : ({ at: 0, again: true } as const);
    return [this.#goOn({ ...next, approved, ...this.#told() })];
  }

  /** The person who has answered was told about these calls. */
  #told(): Pick<Walk, 'repeats'> {
    const { repeats } = this.#walk;
    return repeats === undefined ? {} : { repeats };
  }

  /** Null if the walk goes on. */
  #judge(control: Control, at: number, verdicts: Json): readonly EventBody[] | null {
    switch (control.how) {
      case 'expr':
        return this.#judgeExpr(control, at);
      case 'meter':
        return this.#judgeMeter(control);
      case 'check':
        return this.#judgeCheck(control, at, verdictOf(verdicts, control.control));
      case 'ask':
        return this.#judgeAsk(control, at);
    }
  }

  #judgeExpr(control: ExprControl, at: number): readonly EventBody[] | null {
    let problem: string | null = null;
    const repeats = control.with.repeats === true ? this.#repeats() : [];
    const names: Slots = control.with.repeats === true ? { repeats: shownDeeds(this.#visit.state, repeats) } : {};
    for (const { when, reason, error, asks } of control.with.cases)
      try {
        const holds = this.#evaluate(when, names);
        if (holds === true && asks === true) return this.#doubt(control, this.#text(reason, names), repeats);
        if (holds === true) return this.#refuse(control, at, { reason: this.#text(reason, names) }, { error });
        if (holds !== false) problem ??= 'a condition is neither true nor false';
      } catch (cause) {
        problem ??= reasonOf(cause);
      }
    return problem === null ? this.#pass(control) : this.#refuse(control, at, { reason: problem });
  }

  /** Earlier equal calls of which nobody was told who decides about this one. */
  #repeats(): readonly EffectKey[] {
    const { program, state, node } = this.#visit;
    if (node.effect.kind !== 'tool') return [];
    const args = argsIn(evaluateInput(program, node.effect.input, this.#slots));
    const mark = markOf(program, node.effect.tool, args);
    const { repeats: told = [] } = this.#walk;
    return mark === undefined ? [] : deedsLike(state, mark).filter((key) => !told.includes(key));
  }

  /** The next question of the walk is asked. */
  #doubt(control: Control, doubt: string, repeats: readonly EffectKey[] = []): null {
    this.#judged.push([control.control, 'ask', doubt]);
    const { repeats: told = [], doubt: before } = this.#walk;
    const all = [...told, ...repeats];
    this.#walk = {
      ...this.#walk,
      doubt: before === undefined ? doubt : `${before}; ${doubt}`,
      ...(all.length === 0 ? {} : { repeats: all }),
    };
    return null;
  }

  #judgeMeter(control: Control): readonly EventBody[] | null {
    const { program, state, node } = this.#visit;
    const trip = reserve(this.#visit, declaredOf(program, node), node.effect.reserve);
    if (trip === undefined || !('type' in trip)) return this.#pass(control);
    if (awaitsDrops(state)) return NOTHING;
    this.#judged.push([control.control, 'stop', shortfall(meterAt(program, trip.meter), trip)]);
    const { approved: unused } = this.#walk;
    return [this.#event({}), unused === undefined ? trip : { ...trip, unused }];
  }

  #judgeCheck(control: CheckControl, at: number, verdict: Verdict): readonly EventBody[] | null {
    const { ok, until } = verdict;
    if (ok === true) return this.#pass(control);
    if (typeof until === 'number') return this.#wait(control, at, until, verdict);
    if (typeof verdict['stop'] === 'string')
      return this.#fail(control, textIn(verdict), { ...control.with.error, type: verdict['stop'] });
    if (control.with.asks !== true) return this.#refuse(control, at, verdict);
    return this.#doubt(control, textIn(verdict));
  }

  /** The checks from here on are performed at a later time, if there is enough of it. */
  #wait(control: CheckControl, at: number, until: number, verdict: Verdict): readonly EventBody[] {
    const { program, state, node } = this.#visit;
    const { waits = 0, since = state.now } = this.#walk;
    const end = deadlineFrom(state, until, null) ?? Infinity;
    const { queueMs = Infinity } = timesOf(program, node);
    if (until - since > queueMs)
      return this.#refuse(control, at, {
        ok: false,
        reason: `${textIn(verdict)}, and has no place within ${queueMs / 1000} s`,
      });
    if (waits >= (control.with.waits ?? 0) || until >= end) return this.#refuse(control, at, verdict);
    this.#judged.push([control.control, 'wait', textIn(verdict)]);
    return [this.#goOn({ ...this.#walk, at, until, since, waits: waits + 1 })];
  }

  #judgeAsk(control: AskControl, at: number): readonly EventBody[] | null {
    const { approved, doubt } = this.#walk;
    if (approved !== undefined) return null;
    try {
      if (doubt === undefined && this.#evaluate(control.with.when ?? 'true') !== true) return this.#pass(control);
    } catch (cause) {
      return this.#refuse(control, at, { reason: reasonOf(cause) });
    }
    this.#judged.push([control.control, 'ask']);
    return [this.#goOn({ ...this.#walk, at, asks: 'itself' })];
  }

  #pass({ control }: Control): null {
    this.#judged.push([control, 'pass']);
    return null;
  }

  /** The agent is told, a person is asked, or the call fails. */
  #refuse(control: Control, at: number, verdict: Verdict, found?: Pick<RefusingCase, 'error'>): readonly EventBody[] {
    const { step = control.control, tag, reason: words, instead: list = [], ...usual } = control.with;
    const given = { reason: textIn(verdict), verdict };
    const reason = words === undefined || found !== undefined ? given.reason : this.#text(words, given);
    const instead = list.findIndex(({ when }) => this.#holds(when, given));
    const { onRefuse, question, error: other } = { ...usual, onRefuse: control.onRefuse, ...list[instead] };
    if (found?.error !== undefined || onRefuse === 'fail') return this.#fail(control, reason, found?.error ?? other);
    if (onRefuse === 'tell') return this.#tell(control, { step, tag, reason });
    if (question === undefined) return this.#fail(control, reason, other);
    this.#judged.push([control.control, 'refuse', reason]);
    const refused = { reason, verdict, ...(instead < 0 ? {} : { instead }) };
    return [this.#goOn({ ...this.#walk, at, asks: 'refusal', refused })];
  }

  #tell(control: Control, words: Omit<Refused, 'control'>): readonly EventBody[] {
    const { refused } = this.#controls;
    if (refused === undefined) return this.#fail(control, words.reason, control.with.error);
    this.#judged.push([control.control, 'refuse', words.reason]);
    return [this.#event({ refusal: { control: control.control, ...words }, to: refused, charge: this.#visits() })];
  }

  #fail(control: Control, reason: string, { class: kind, type, code }: RefusalError): readonly EventBody[] {
    const { node } = this.#visit;
    this.#judged.push([control.control, 'stop', reason]);
    const error: ErrorRecord = { class: kind, type, message: reason, node: authorOf(node), code };
    const to = this.#controls.stopped ?? route(this.#visit, node, error);
    return [this.#event({ error, to, charge: this.#visits() })];
  }

  #visits(): readonly string[] | undefined {
    return declaredOf(this.#visit.program, this.#visit.node).visits;
  }

  #goOn(walk: Walk): EventBody {
    if (walk.at >= this.#controls.walk.length) return this.#event({ walk });
    const call = this.#walk.call ?? (this.#pending?.kind === 'check' ? this.#pending.key : undefined);
    return this.#event({ walk: call === undefined ? walk : { ...walk, call } });
  }

  #event(more: object): EventBody {
    const { thread } = this.#visit;
    const event = {
      type: 'call.judged',
      thread: thread.id,
      node: thread.at,
      of: this.#pending?.key,
      controls: this.#judged,
      writes: this.#writes.length === 0 ? undefined : this.#writes,
      again: this.#pending === null && thread.walk !== undefined ? true : undefined,
      ...more,
    };
    return event as unknown as EventBody;
  }

  /** The arguments that a check has changed. */
  #takeArgs(): void {
    const { kind, observed } = this.#pending ?? {};
    if (kind !== 'check' || observed?.ok !== true || !isRecord(observed.value)) return;
    const { args } = observed.value;
    if (args !== undefined) this.#write(this.#controls.args ?? [], ['it', 'args'], args);
  }

  #write([slot, ...path]: readonly string[], ref: readonly string[], value: Json): void {
    if (slot === undefined) return;
    this.#writes.push({ slot, ...(path.length === 0 ? {} : { path }), mode: 'set', from: { ref } });
    this.#slots = { ...this.#slots, [slot]: withField(this.#slots[slot] ?? null, path, value) };
  }

  #evaluate(source: string, names: Slots = {}): Json {
    const { program, state } = this.#visit;
    const now = new Date(state.now).toISOString();
    return program.evaluate(source, slotsOf(this.#slots, this.#walk, { now, ...names }));
  }

  #holds(when: string, names: Slots): boolean {
    try {
      return this.#evaluate(when, names) === true;
    } catch {
      return false;
    }
  }

  #text(source: string, names: Slots = {}): string {
    try {
      const text = this.#evaluate(source, names);
      return typeof text === 'string' ? text : JSON.stringify(text);
    } catch (cause) {
      return reasonOf(cause);
    }
  }

  /** Requests all checks from here on as one call. */
  #perform(at: number): readonly EventBody[] {
    const { program, state, node } = this.#visit;
    return evaluated(this.#visit, () => {
      const input = digest(checkInput(this.#visit, at), program.pure.hash);
      const worst = checksFrom(this.#controls, this.#walk, at).reduce<Amounts>(plus, {});
      const holds = reserve(this.#visit, declaredOf(program, node), worst);
      if (holds !== undefined && 'type' in holds) return awaitsDrops(state) ? [] : [holds];
      const { until } = this.#walk;
      const notBefore = until !== undefined && until > state.now ? until : undefined;
      const deadline = deadlineFrom(state, notBefore ?? state.now, null);
      const request = { kind: 'check', name: CONTROLS_CHECK, input, deadline, holds, notBefore } as const;
      return [{ ...requestOf(this.#visit, at), ...request }];
    });
  }
}

const NOTHING: readonly EventBody[] = [];
const MISSING: Verdict = { ok: false, reason: 'the control gave no verdict' };

function textIn({ reason = '' }: Verdict): string {
  return typeof reason === 'string' ? reason : JSON.stringify(reason);
}

function withField(value: Json, [field, ...path]: readonly string[], changed: Json): Json {
  if (field === undefined) return changed;
  const fields = isRecord(value) ? value : {};
  return { ...fields, [field]: withField(fields[field] ?? null, path, changed) };
}

function plus(all: Amounts, { with: { reserve: own = {} } }: CheckControl): Amounts {
  const sums = (Object.keys(own) as Dimension[]).map((each) => [each, (all[each] ?? 0) + (own[each] ?? 0)]);
  return { ...all, ...(Object.fromEntries(sums) as Amounts) };
}

function requestOf({ thread }: Visit<DoNode>, control: number) {
  const key: EffectKey = `${thread.id}#${thread.acts}`;
  const again = thread.walk === undefined ? undefined : (true as const);
  return { type: 'effect.requested', thread: thread.id, key, node: thread.at, control, again } as const;
}

function ask(visit: Visit<DoNode>, walk: Walk, { ask: effect, timeoutMs }: Asking): readonly EventBody[] {
  const { program, state, thread, node } = visit;
  const full = tooManyQuestions(state, node, effect.about);
  if (full !== null) return failedBefore(visit, full);
  return evaluated(visit, () => {
    const shown = evaluateInput(program, effect.input, slotsOf(thread.slots, walk));
    const input = digest(shown, program.pure.hash);
    const request = requestOf(visit, walk.at);
    const question = questionOf(state.run, effect, request.key, input);
    const deadline = deadlineFrom(state, state.now, timeoutMs, true);
    return [{ ...request, kind: 'ask', name: effect.about, input, deadline, question }];
  });
}

/** A check or a question whose input cannot be evaluated is a failure of the call. */
function evaluated(visit: Visit<DoNode>, request: () => readonly EventBody[]): readonly EventBody[] {
  try {
    return request();
  } catch (cause) {
    return failedBefore(visit, expressionError(visit.node, cause));
  }
}

function failedBefore(visit: Visit<DoNode>, error: ErrorRecord): readonly EventBody[] {
  const { program, thread, node } = visit;
  const { visits: charge } = declaredOf(program, node);
  return [
    { type: 'expression.failed', thread: thread.id, node: thread.at, error, to: route(visit, node, error), charge },
  ];
}

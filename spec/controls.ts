/**
 * What the controls of a call mean: they judge one after the other, as far as the world has something to say about them. The
 * words and the consequences of a refusal are data, so they are the same for every control.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CONTROLS_CHECK } from '@sluice-internal/kernel/ir';
import type {
  AskControl,
  Asking,
  CheckControl,
  Control,
  Controls,
  DoNode,
  ErrorRecord,
  NodeId,
  RefusalError,
  Settled,
  Slots,
} from '@sluice-internal/kernel/ir';
import type { Asked } from './values.ts';
import { evaluate, fields, holds, problem, written } from './values.ts';

/** What a walk needs of the one that makes it. */
interface Around {
  ask(asked: Asked): Settled | null;
  /** Where the call goes if it does not fit. */
  test(): NodeId | null;
}
interface Branch {
  readonly id: string;
  acts: number;
  slots: Slots;
}

export function failed(thread: Branch, ways: Pick<DoNode, 'failed' | 'fail'>, error: ErrorRecord): NodeId {
  thread.slots = { ...thread.slots, error: { ...error } };
  return ways.failed.find(({ when }) => holds(when, thread.slots))?.to ?? ways.fail;
}

const SILENCE: Settled = {
  ok: false,
  error: { class: 'timeout', type: 'TimeoutError', message: `\`${CONTROLS_CHECK}\` did not answer in time` },
};

export class Checks {
  readonly #around: Around;
  readonly #thread: Branch;
  readonly #at: NodeId;
  readonly #node: DoNode;
  readonly #controls: Controls;
  /** What the world said about all checks from here on. */
  #said: Settled | null = null;
  #first: string | null = null;
  #doubt: string | null = null;
  #approved = false;
  #again = false;
  #edits = 0;
  #waits = 0;

  constructor(around: Around, thread: Branch, at: NodeId, node: DoNode, controls: Controls) {
    [this.#around, this.#thread, this.#at, this.#node, this.#controls] = [around, thread, at, node, controls];
  }

  /** Null if the call is made. */
  walk(from = 0): NodeId | null {
    const { walk } = this.#controls;
    for (let index = from; index < walk.length; index++) {
      const control = walk[index] as Control;
      if (this.#again && control.volatile !== true) continue;
      const done = this.#judge(control, index);
      if (done !== undefined) return done;
    }
    return null;
  }

  /** Undefined: on to the next one. */
  #judge(control: Control, index: number): NodeId | null | undefined {
    if (control.how === 'meter') return this.#around.test() ?? undefined;
    if (control.how === 'ask') return this.#question(control);
    if (control.how === 'check') return this.#check(control, index);
    let unknown: string | null = null;
    for (const { when, reason, error } of control.with.cases) {
      const { value, why = 'a condition is neither true nor false' } = this.#value(when);
      if (value === true) return this.#refuse(control, { reason: this.#text(reason) }, true, error);
      if (value !== false) unknown ??= why;
    }
    return unknown === null ? undefined : this.#refuse(control, { reason: unknown });
  }

  #check(control: CheckControl, index: number): NodeId | null | undefined {
    const { asks, waits = 0 } = control.with;
    const answer = this.#said ?? this.#perform(index);
    this.#said = answer;
    const value = answer.ok ? (answer.value as Slots) : {};
    // One verdict may be for all of them.
    const verdicts = (value['verdicts'] ?? null) as Slots | null;
    const verdict = ((verdicts === null ? value : verdicts[control.control]) ?? {}) as Slots;
    if (!answer.ok) return this.#refuse(control, { reason: answer.error.message });
    if (verdict['ok'] === true) return undefined;
    if (typeof verdict['until'] === 'number') {
      if (this.#waits >= waits) return this.#refuse(control, verdict);
      this.#waits += 1;
      this.#said = null;
      return this.walk(index);
    }
    if (typeof verdict['stop'] === 'string')
      return this.#fail(String(verdict['reason']), { ...control.with.error, type: verdict['stop'] });
    if (asks !== true) return this.#refuse(control, verdict);
    this.#doubt = this.#doubt === null ? String(verdict['reason']) : `${this.#doubt}; ${String(verdict['reason'])}`;
    return undefined;
  }

  #perform(index: number): Settled {
    const { walk, args: place } = this.#controls;
    const { effect } = this.#node;
    const controls = walk.slice(index).flatMap((each): Json[] => {
      if (each.how !== 'check' || (this.#again && each.volatile !== true)) return [];
      const { check, input, asks } = each.with;
      return [
        { control: each.control, check, input: fields(input, this.#slots()), ...(asks === true ? { asks } : {}) },
      ];
    });
    const { args = null } = fields(effect.input, this.#thread.slots);
    const call: Slots = this.#first === null ? {} : { call: this.#first };
    const input = { args, controls, tool: effect.kind === 'tool' ? effect.tool : '', ...call };
    const key = this.#key();
    this.#first ??= key;
    const said = this.#ask(key, 'check', CONTROLS_CHECK, input) ?? SILENCE;
    const changed = said.ok ? (said.value as Slots)['args'] : undefined;
    if (place !== undefined && changed !== undefined) this.#put(place, changed);
    return said;
  }

  #question(control: AskControl): NodeId | null | undefined {
    if (this.#approved) return undefined;
    const { when = 'true', ways, edits, into, told } = control.with;
    const wants = this.#value(this.#doubt === null ? when : 'true');
    if (wants.why !== undefined) return this.#refuse(control, { reason: wants.why });
    if (wants.value !== true) return undefined;
    const answer = this.#person(control.with);
    const way = ways[String(answer['choice'])];
    if (into !== undefined) this.#put([into], answer);
    if (way === 'tell' && told !== undefined)
      return this.#tell(control, { ...told, reason: this.#text(told.reason, { answer }) });
    const edit = answer['edit'];
    const isEdit = way === 'edit' && edit !== undefined && this.#edits < edits;
    if (!isEdit && way !== 'pass') return this.#refuse(control, { reason: '' });
    [this.#approved, this.#said, this.#doubt, this.#waits] = [true, null, null, 0];
    if (isEdit && this.#controls.args !== undefined) this.#put(this.#controls.args, edit);
    this.#edits += isEdit ? 1 : 0;
    if (isEdit) return this.walk();
    // Only what may have changed in the meantime is judged once more.
    this.#again = true;
    return this.walk();
  }

  #refuse(control: Control, verdict: Slots, isOwn = false, error?: RefusalError): NodeId {
    const given = String(verdict['reason'] ?? '');
    const { step = control.control, tag, reason: words, instead = [], question, error: usual } = control.with;
    const names = { reason: given, verdict };
    const reason = words === undefined || isOwn ? given : this.#text(words, names);
    const found = instead.find(({ when }) => this.#value(when, names).value === true);
    const onRefuse = error === undefined ? (found?.onRefuse ?? control.onRefuse) : 'fail';
    const asking = found === undefined ? question : found.question;
    const failure = error ?? found?.error ?? usual;
    if (onRefuse === 'tell') return this.#tell(control, { step, tag, reason });
    if (onRefuse === 'fail' || asking === undefined) return this.#fail(reason, failure);
    const answer = this.#person(asking, { reason, verdict });
    if (asking.into !== undefined) this.#put([asking.into], answer);
    const { told } = asking;
    return asking.ways[String(answer['choice'])] === 'tell' && told !== undefined
      ? this.#tell(control, { ...told, reason: this.#text(told.reason, { answer, reason, verdict }) })
      : this.#fail(reason, asking.error ?? usual);
  }

  #tell(control: Control, words: { readonly step: string; readonly tag: string; readonly reason: string }): NodeId {
    const { refused } = this.#controls;
    if (refused === undefined) return this.#fail(words.reason, control.with.error);
    this.#put(['_refusal'], { control: control.control, ...words });
    return refused;
  }

  #fail(message: string, { class: kind, type, code }: RefusalError): NodeId {
    const error = { ...problem(this.#node, { class: kind, type, message }), code };
    const { stopped } = this.#controls;
    return failed(this.#thread, stopped === undefined ? this.#node : { failed: [], fail: stopped }, error);
  }

  #person(asking: Asking, names: Slots = {}): Slots {
    const { ask } = asking;
    const given = this.#ask(this.#key(), 'ask', ask.about, fields(ask.input, this.#slots(names)));
    return (given?.ok === true ? given.value : { choice: ask.onExpiry, by: 'clock', expired: true }) as Slots;
  }

  #ask(key: string, kind: 'ask' | 'check', name: string, input: Slots): Settled | null {
    return this.#around.ask({ thread: this.#thread.id, key, attempt: 1, kind, name, node: this.#at, input });
  }

  #key(): string {
    return `${this.#thread.id}#${this.#thread.acts++}`;
  }

  #put([slot, ...path]: readonly string[], value: Json): void {
    if (slot === undefined) return;
    const it = { slot, mode: 'set', value: 'it', ...(path.length === 0 ? {} : { path }) } as const;
    this.#thread.slots = written(this.#thread.slots, [it], value);
  }

  /** Questions and checks are told what is so far known. The time is not for them. */
  #slots(names: Slots = {}): Slots {
    const walk = { reason: null, verdict: null, doubt: this.#doubt, approved: this.#approved, ...names };
    return { ...this.#thread.slots, _walk: walk };
  }

  #text(source: string, names: Slots = {}): string {
    const { value, why } = this.#value(source, names);
    return why ?? (typeof value === 'string' ? value : JSON.stringify(value));
  }

  /** The value of an expression, or why it has none. */
  #value(source: string, names: Slots = {}): { readonly value: Json; readonly why?: string } {
    try {
      return { value: evaluate(source, this.#slots(names)) };
    } catch (cause) {
      return { value: null, why: reasonOf(cause) };
    }
  }
}

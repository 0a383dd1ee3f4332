/**
 * From a random program to a compiled flow of the shape that the compiler makes: every cycle charges a visits meter, every
 * meter that trips leads forward, every way ends. Branches that run at the same time draw on meters that never trip,
 * since which of them would trip a shared one depends on time.
 */
import { createHash } from 'node:crypto';
import type { WaitEffect } from '../../packages/kernel/src/ir/nodes.ts';
import type { Asking, CompiledFlow, Control, Controls, Input, Meter, Node, NodeId } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { METERS } from './plan.ts';
import type { Block, CallPlan, ControlPlan, ForkPlan, Plan, Stmt } from './plan.ts';

const AGENT = {
  model: 'm',
  instructions: 'be brief',
  tools: [],
  output: null,
  maxOutputTokens: null,
  temperature: null,
};
export const OUTPUT_PRICE = 2;
const FIRST = [
  { slot: 'a', mode: 'set', value: '1' },
  { slot: 'b', mode: 'set', value: '"t"' },
  { slot: 'c', mode: 'set', value: 'input.o' },
] as const;

export function lower(plan: Plan): CompiledFlow {
  return new Lowering(plan).flow();
}

class Lowering {
  readonly #plan: Plan;
  readonly #nodes: { [id: NodeId]: Node } = {};
  readonly #meters: { [id: string]: Meter } = {};
  readonly #least: { [id: NodeId]: { [dimension: string]: number } } = {};
  #count = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  flow(): CompiledFlow {
    const { ends, body } = this.#plan;
    this.#nodes['fail'] = { op: 'end', label: { name: 'fail' }, state: 'failed', code: 'error', output: 'null' };
    this.#nodes['over'] = {
      op: 'end',
      label: { name: 'over' },
      state: 'completed',
      code: 'BUDGET_EXHAUSTED',
      output: 'a',
    };
    for (const unit of METERS) {
      const shape = { unit, over: unit === 'toolCalls' ? 'fail' : 'over', label: unit };
      const rules = unit === 'repeats' ? { window: 4, cycle: 2, failures: 2 } : {};
      this.#meters[unit] = { ...shape, ...rules, max: this.#plan.caps[unit] };
      // Branches that run at once charge this one. It never trips, because the order of their calls depends on time.
      this.#meters[`loose_${unit}`] = { ...shape, max: 100_000 };
    }
    const last = this.#add('end', {
      op: 'end',
      label: { name: 'end' },
      state: ends,
      code: ends === 'completed' ? 'SUCCESS' : 'error',
      output: '{"a": a, "b": b, "c": c, "error": error}',
      charges: ['steps'],
    });
    const entry = this.#block([{ is: 'let', writes: FIRST }, ...body], last, false);
    const compiled = {
      ir: 1 as const,
      id: 'random',
      notation: 'flow',
      entry,
      fail: 'fail',
      nodes: this.#nodes,
      meters: this.#meters,
      agents: { p: { ...AGENT, id: 'p', name: 'p' }, q: { ...AGENT, id: 'q', name: 'q' } },
      tools: {},
      models: {
        m: { price: { input: 1, output: OUTPUT_PRICE } },
        n: { price: { input: 3, output: OUTPUT_PRICE } },
        o: { price: { input: 0, output: OUTPUT_PRICE + 1 } },
      },
      least: this.#least,
    };
    return { ...compiled, hash: `sha256:${createHash('sha256').update(JSON.stringify(compiled)).digest('hex')}` };
  }

  #add(name: string, node: Node): NodeId {
    const id = `${name}_${this.#count++}`;
    this.#nodes[id] = {
      ...node,
      label: { name: id, ...(this.#count % 3 === 0 ? { authored: `author of ${id}` } : {}) },
    };
    return id;
  }

  #block(block: Block, next: NodeId, together: boolean): NodeId {
    return block.reduceRight((to, stmt) => this.#statement(stmt, to, together), next);
  }

  #statement(stmt: Stmt, next: NodeId, together: boolean): NodeId {
    switch (stmt.is) {
      case 'let':
        return this.#add('let', { op: 'let', label: { name: '' }, writes: stmt.writes, next });
      case 'if':
        return this.#add('if', {
          op: 'pick',
          label: { name: '' },
          cases: [{ when: stmt.when, to: this.#block(stmt.yes, next, together) }],
          otherwise: this.#block(stmt.no, next, together),
        });
      case 'stop':
        return this.#add('stop', {
          op: 'end',
          label: { name: '' },
          state: stmt.state,
          code: stmt.state === 'completed' ? 'PARTIAL_SUCCESS' : 'VALIDATION_FAIL',
          output: stmt.output,
        });
      case 'loop': {
        const n = this.#count++;
        const counter = `i${n}`;
        this.#meters[`visits${n}`] = {
          unit: 'visits',
          max: together ? 1000 : stmt.cap,
          over: stmt.stops ? 'over' : next,
          label: 'cap',
        };
        const head = `head_${n}`;
        const count = this.#add('count', {
          op: 'let',
          label: { name: '' },
          writes: [{ slot: counter, mode: 'set', value: `${counter} + 1` }],
          next: head,
        });
        this.#nodes[head] = {
          op: 'pick',
          label: { name: head },
          charges: [`visits${n}`],
          cases: [{ when: `${counter} < ${stmt.times}`, to: this.#block(stmt.body, count, together) }],
          otherwise: next,
        };
        return this.#add('init', {
          op: 'let',
          label: { name: '' },
          writes: [{ slot: counter, mode: 'set', value: '0' }],
          next: head,
        });
      }
      case 'call':
        return this.#call(stmt, next, together);
      case 'fork':
        return this.#fork(stmt, next, together);
    }
  }

  #call(plan: CallPlan, next: NodeId, together: boolean): NodeId {
    const { kind, name, reserve } = plan;
    const isControlled = kind === 'tool' && plan.controls.length > 0;
    const input = { x: plan.input, a: 'a', ...(plan.takes || isControlled ? { args: plan.input } : {}) };
    const calls = {
      ...(kind === 'model' ? { modelCalls: 1, outputTokens: reserve } : {}),
      ...(kind === 'tool' ? { toolCalls: 1, sideEffects: reserve } : {}),
    };
    const effect =
      kind === 'model'
        ? ({ kind, agent: name, input, reserve: calls } as const)
        : kind === 'tool'
          ? ({ kind, tool: name, input, reserve: calls } as const)
          : kind === 'check'
            ? ({ kind, check: name, input, reserve: calls } as const)
            : kind === 'wait'
              ? waitEffect(name, plan.input)
              : ({
                  kind,
                  about: name,
                  input: { message: '"sure?"', ...input },
                  reserve: calls,
                  choices: [{ name: 'yes' }, { name: 'no' }],
                  onExpiry: 'no',
                  code: 'CONFIRM_REQUIRED',
                  askedBy: 'flow',
                } as const);
    const failed =
      plan.onFail === 'go on'
        ? [{ when: 'true', to: next }]
        : plan.onFail === 'some'
          ? [{ when: 'error.class == "transient" || error.code == "REPEATED_FAILURE"', to: next }]
          : [];
    const charges = plan.meters.map((meter) => (together ? `loose_${meter}` : meter));
    const id = this.#add(kind, {
      op: 'do',
      label: { name: '' },
      effect,
      charges,
      writes: [{ slot: plan.into, mode: plan.mode, value: plan.value }],
      next,
      failed,
      fail: 'fail',
      // A question or a signal must end some time. A question is asked once.
      timeoutMs: plan.timed || kind === 'ask' || (kind === 'wait' && name === 'q') ? 1000 : null,
      retry: {
        max: kind === 'ask' ? 0 : plan.retries,
        baseMs: plan.backoff ? 20 : 0,
        capMs: 50,
        on: plan.retryOn,
        ...(kind === 'model' && name === 'q'
          ? { fallback: { targets: ['n', 'o'], on: ['transient', 'rate_limit'] } as const }
          : {}),
        ...(plan.retryWhen === null ? {} : { when: plan.retryWhen, factor: 3 }),
      },
      ...(plan.undo && kind === 'tool'
        ? { undo: { tool: 'undo_p', input: { of: 'input.x', a: 'a' }, timeoutMs: 500 } }
        : {}),
      ...(isControlled ? { controls: controlsOf(plan.controls, next) } : {}),
      // Faults that change nothing but time must not use up the calls after crashes.
      recalls: 100,
      ...(plan.takes ? { takes: { type: ['object', 'number'] } as Json } : {}),
      ...(plan.onBudget ? { onBudget: next } : {}),
      ...(plan.grants === null
        ? {}
        : { grant: { [together ? `loose_${plan.grants.meter}` : plan.grants.meter]: plan.grants.by } }),
      ...(plan.schema ? { schema: { type: ['object', 'number'] } as Json } : {}),
      ...(plan.accept === null ? {} : { accept: plan.accept }),
    });
    if (plan.least > 0 && !together) this.#least[id] = { [kind === 'model' ? 'modelCalls' : 'steps']: plan.least };
    return id;
  }

  #fork(plan: ForkPlan, next: NodeId, together: boolean): NodeId {
    const { forks } = this.#plan;
    const inner = together || forks !== 'sequential';
    const ending = (state: 'completed' | 'failed'): NodeId =>
      this.#add('done', {
        op: 'end',
        label: { name: '' },
        state,
        code: state === 'completed' ? 'SUCCESS' : 'error',
        output: plan.output,
      });
    const over =
      'heads' in plan.over
        ? {
            heads: plan.over.heads.map(({ when, body, fails }, index) => ({
              name: `h${index}`,
              to: this.#block(body, ending(fails ? 'failed' : 'completed'), inner),
              ...(when === null ? {} : { when }),
            })),
          }
        : { each: plan.over.each, as: 'item', head: this.#block(plan.over.body, ending('completed'), inner) };
    const early = forks === 'early';
    return this.#add('fork', {
      op: 'fork',
      label: { name: '' },
      over,
      into: 'c',
      gather: plan.gather,
      next,
      failed: plan.rescued ? [{ when: 'true', to: next }] : [],
      fail: 'fail',
      widthMax: forks === 'sequential' ? 1 : plan.width,
      need: forks === 'concurrent' ? 'all' : plan.need,
      eager: forks === 'concurrent' ? false : plan.eager,
      timeoutMs: early && plan.timed ? 40 : null,
      charges: together ? ['loose_steps'] : ['steps'],
    });
  }
}

/** `p` is a timer, `q` a wait for a signal. */
function waitEffect(name: 'p' | 'q', x: string): WaitEffect {
  const input: Input = name === 'p' ? { for: '0.5' } : { signal: '"s"', x };
  return { kind: 'wait', about: name, input, reserve: {} };
}

const REFUSED = { type: 'RefusedError', class: 'policy', code: 'PERMISSION_DENIED' } as const;

/** What a question about a call, or about its refusal, is. The choice `yes` lets the call pass, or tells the agent. */
function asking(about: string, way: 'pass' | 'tell'): Asking {
  return {
    ask: {
      kind: 'ask',
      about,
      choices: [{ name: 'yes' }, { name: 'no' }],
      onExpiry: 'no',
      code: 'CONFIRM_REQUIRED',
      askedBy: 'flow',
      input: { message: 'text("sure? ", _walk.doubt, _walk.reason)', verdict: '_walk.verdict' },
      reserve: {},
    },
    timeoutMs: 1000,
    into: 'c',
    ways: { yes: way },
    told: { step: 'answer', tag: 'ANSWER', reason: 'text(_walk.answer.choice, _walk.reason)' },
    error: { ...REFUSED, type: 'StoppedError' },
  };
}

function controlsOf(plans: readonly ControlPlan[], refused: NodeId): Controls {
  const walk = plans.map((plan, index): Control => {
    const { how, when, onRefuse, instead, asks, volatile, waits } = plan;
    const control = `c${index}`;
    const words = {
      tag: 'NO',
      error: REFUSED,
      reason: 'text("because ", _walk.reason)',
      ...(onRefuse === 'ask' ? { question: asking(`why ${control}`, 'tell') } : {}),
      ...(instead === null ? {} : { instead: [{ when: instead, onRefuse: 'fail' as const }] }),
    };
    const common = { control, onRefuse, ...(volatile ? { volatile: true as const } : {}) };
    switch (how) {
      case 'expr':
        return { ...common, how, with: { ...words, cases: [{ when, reason: '"it says so"' }] } };
      case 'meter':
        return { ...common, how, with: words };
      case 'check':
        return {
          ...common,
          how,
          with: { ...words, check: 'p', input: { b: 'b' }, waits, ...(asks ? { asks: true as const } : {}) },
        };
      case 'ask':
        return { ...common, how, with: { ...words, ...asking(control, 'pass'), when, edits: 1 } };
    }
  });
  return { walk, args: ['b'], refused };
}

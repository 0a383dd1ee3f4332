/** Phases 16 to 18: the answer with what it rests on, what may be remembered, and the end under its code. */
import type { Expr } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../lower/agent-turn/slots.ts';
import { object, quote } from '../../expressions/cel-text.ts';
import { addLet, addPick, failedTrace, idOf, NO_RETRY } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { ANSWER, ENDING, FINAL, GOAL, KIND, SAID, STATUS, set } from './slots.ts';

/** What the answer cites; where it cites nothing, all that went well. */
const CITED: Expr = `type(${SAID}) == map && type(${SAID}.citations) == list ? ${SAID}.citations : ${OBSERVATIONS}.filter(o, o.ok).map(o, o.id)`;

export function addFinish(l: Lowering): void {
  const { builder, loop, at } = l;
  const ends = addPick(
    l,
    builder.fresh('terminate'),
    'terminate',
    [
      {
        when: `${ENDING} == "PARTIAL_SUCCESS"`,
        to: builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: ANSWER }),
      },
    ],
    builder.end({ state: 'completed', code: 'SUCCESS', output: ANSWER }),
  );
  const record = set(
    'record',
    object([
      ['ending', ENDING],
      ['status', STATUS],
      ['open', KIND],
    ]),
  );
  const trace = addLet(l, idOf(l, 'trace_logging'), 'trace_logging', [record], ends);
  // Apart from the other, so that nobody takes a failure for a short way to success.
  const stops = [...l.stops].map((code) => ({
    when: `${ENDING} == ${quote(code)}`,
    to: builder.end({ state: 'failed', code, output: ANSWER }),
  }));
  const failed = addPick(l, builder.fresh('terminate.failed'), 'terminate', stops, builder.failedEnd(ANSWER));
  addLet(l, failedTrace(l), 'trace_logging', [record], failed);
  const memory = idOf(l, 'memory_write');
  if (!loop.memory) addLet(l, memory, 'memory_write', [], trace);
  else
    builder.add(
      memory,
      {
        op: 'do',
        label: { name: 'memory_write' },
        onBudget: trace,
        effect: {
          kind: 'check',
          check: 'memory.write',
          input: {
            owner: quote(loop.executor),
            goal: GOAL,
            answer: ANSWER,
            citations: `${FINAL}.citations`,
            observations: OBSERVATIONS,
          },
          reserve: { memoryWrites: 1 },
        },
        writes: [set('remembered', 'it')],
        timeoutMs: null,
        retry: NO_RETRY,
        next: trace,
        failed: [],
        fail: addLet(l, builder.fresh('memory.failed'), 'memory_write', [set('error', 'null')], trace),
      },
      at,
    );
  const ending = `${STATUS} == "partial" ? "PARTIAL_SUCCESS" : "SUCCESS"`;
  addLet(
    l,
    idOf(l, 'final_response'),
    'final_response',
    [set(FINAL, object([['citations', CITED]])), set(ENDING, ending)],
    memory,
  );
}

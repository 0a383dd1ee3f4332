/** LangGraph.js: a graph with the SQLite saver, `retryPolicy` on every node, and replies parsed in the node, as its docs show. */
import { Annotation, END, Send, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import type { Faulted } from '../faults/contestant.ts';
import { z } from 'zod';

const Plan = z.object({ tasks: z.array(z.object({ id: z.string(), brief: z.string() })).min(1) });
const Finding = z.object({ finding: z.string() });
const Verdict = z.object({ ok: z.boolean() });
const Answer = z.object({ answer: z.string() });

const State = Annotation.Root({
  run: Annotation<string>,
  task: Annotation<string>,
  tasks: Annotation<string[]>,
  findings: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
  ok: Annotation<boolean>,
  answer: Annotation<string>,
});

export const langgraph: Faulted = {
  settings:
    '`retryPolicy: { maxAttempts: 3 }` on every node, the SQLite checkpointer, and `invoke(null)` after a crash',
  async open(file, provider) {
    const saver = SqliteSaver.fromConnString(file);
    const retryPolicy = { maxAttempts: 3, initialInterval: 1, jitter: false, logWarning: false };
    const graph = new StateGraph(State)
      .addNode(
        'plan',
        ({ run }) => ({ tasks: Plan.parse(JSON.parse(provider.ask(run, 'planner'))).tasks.map(({ id }) => id) }),
        { retryPolicy },
      )
      .addNode(
        'worker',
        ({ run, task }) => ({ findings: [Finding.parse(JSON.parse(provider.ask(run, 'worker', task))).finding] }),
        { retryPolicy },
      )
      .addNode('validate', ({ run }) => ({ ok: Verdict.parse(JSON.parse(provider.ask(run, 'critic'))).ok }), {
        retryPolicy,
      })
      .addNode('finalize', ({ run }) => ({ answer: Answer.parse(JSON.parse(provider.ask(run, 'writer'))).answer }), {
        retryPolicy,
      })
      .addEdge(START, 'plan')
      .addConditionalEdges('plan', ({ run, tasks }) => tasks.map((task) => new Send('worker', { run, task })), [
        'worker',
      ])
      .addEdge('worker', 'validate')
      .addConditionalEdges('validate', ({ ok }) => (ok ? 'finalize' : 'plan'), ['finalize', 'plan'])
      .addEdge('finalize', END)
      .compile({ checkpointer: saver });
    return {
      async run(id) {
        const config = { configurable: { thread_id: id }, durability: 'sync' as const };
        const { next, values } = await graph.getState(config);
        const begun = next.length > 0 || Object.keys(values).length > 0;
        try {
          const { answer } = await graph.invoke(begun ? null : { run: id }, config);
          return answer === 'done';
        } catch {
          return false;
        }
      },
      async close() {
        saver.db.close();
      },
    };
  },
};

/** Compiled in a project with `exactOptionalPropertyTypes`: every optional key of the builders can be undefined. */
import { agent, flow, loop, staged, team, tool, workflow } from 'sluice';
import type { AgentOptions, Budgets, Retry, Settings, code } from 'sluice';

type Refuses<Fields> = {
  [Key in keyof Fields]-?: Partial<Pick<Fields, Key>> extends Pick<Fields, Key>
    ? { [Name in Key]: undefined } extends Pick<Fields, Key>
      ? never
      : Key
    : never;
}[keyof Fields];
type Never<Keys extends never> = Keys;

export type Options = [
  Never<Refuses<AgentOptions<undefined>>>,
  Never<Refuses<Budgets>>,
  Never<Refuses<Settings>>,
  Never<Refuses<Retry>>,
  Never<Refuses<Parameters<typeof tool>[1]>>,
  Never<Refuses<Parameters<typeof code>[1]>>,
];

const no = undefined;
const sections = { agents: [{ id: 'x', name: no }], budgets: no, tools: no, mcp: no } as const;
const clerk = agent('clerk', { model: no, tools: no, budget: { steps: no }, temperature: no, toolWidth: no });
const pay = tool('pay', { timeout: no, approvers: { quorum: no, roles: no, escalate: no }, compensate: no });

export const all = [
  pay,
  flow('f', { input: no, maxIterations: no, budgets: { steps: no }, retain: { days: no } })
    .step(clerk, no, { as: no, timeout: no, retry: no, onError: no })
    .approve('ok', () => 'Go on?', { timeout: no, approvers: { quorum: no, people: no }, description: no }),
  flow(
    {
      id: 'g',
      description: no,
      max_iterations: no,
      entry: 'a',
      nodes: [
        { id: 'a', type: 'agent', agent: 'x', input: no, timeout: no, routes: [{ when: no, to: 'b' }], on_error: no },
        { id: 'b', type: 'approval', message: 'ok?', on_timeout: no, approvers: { quorum: no, roles: no }, routes: no },
      ],
    },
    sections,
  ),
  workflow(
    { name: no, steps: [{ name: 's', agent: 'x', timeout_secs: no, max_retries: no, output_var: no }] },
    sections,
  ),
  workflow('w').step(clerk, no, { as: no, timeout: no, onError: no }),
  loop({ agent: 'x', plan: no, escalation: { timeout: no } }, sections),
  staged({ topology: no, plan: { agent: 'x' }, workers: { agent: 'x', max: no }, validate: no }, sections),
  team('t', { agents: [clerk], selection: no, termination: no, more: no }),
  team({
    Name: no,
    Agents: [{ Name: 'A', Model: no, Plugins: no }],
    Termination: no,
    Selection: {
      Type: 'graph',
      Graph: {
        EntryNode: no,
        MaxRetries: no,
        Nodes: [{ Id: 'n', Agent: 'A', Terminal: no, Validators: no }],
        Edges: [],
      },
    },
  }),
];

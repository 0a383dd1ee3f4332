/** Keyword routes as authors write them, and the gates that routes, edges and terminations share. */
import { agentName, bool, duration, name, once, phrase, record, some } from '@sluice-internal/compile/document';

/** Evidence that a route, an edge or a termination can ask for. */
export const evidenceFields = once(() => ({
  Validator: name().optional().describe('A validator that must pass.'),
  Validators: some(name()).describe('Validators that must all pass.'),
  RequiredCommandPattern: name()
    .optional()
    .describe('With RequireShellPass: the command must contain one of these parts, separated by `|`.'),
  ShellFallbackPattern: name().optional().describe('With RequireWriteFile: a shell command that counts as writing.'),
}));

/** A command of the author that the engine itself runs. */
export const runGate = once(() =>
  record({
    run: name().describe('The command. It runs in the sandbox, in the work directory, and must exit with 0.'),
    timeout: duration().optional().describe('The longest time of the command. Default: `5m`.'),
  })
    .optional()
    .describe('A command that the engine runs before the way is taken.'),
);

/** The gate of a keyword route or a graph edge: evidence, a person, a recovery agent. */
export const gateFields = once(() => ({
  ...evidenceFields(),
  gate: runGate(),
  RequireHumanApproval: bool().default(false).describe('True: a person must approve the route.'),
  RecoveryAgent: agentName().optional().describe('An agent that gets one turn, once, after two refusals in a row.'),
}));

/** The agents that may take a route, an edge or a transition. */
export const sourceAgents = () => some(agentName()).describe('Only these agents may take it. Default: all agents.');

export const routeFields = once(() => ({
  Keyword: phrase().describe('Alone on a line, or at the start of one; letter case does not matter.'),
  Agent: agentName().describe(
    'The agent of the next turn. If it is one of the agents that the route names or belongs to, the session ends.',
  ),
  Contract: name().optional().describe('A contract that must hold.'),
  Contracts: some(name()).describe('Contracts that must all hold.'),
  ...gateFields(),
}));

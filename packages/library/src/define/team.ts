/** `team`: agents that take turns by a strategy, as a value. */
import { present } from '@sluice-internal/kernel/expr';
import type { TeamSelection, TeamTermination } from '@sluice-internal/notations/team';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Agent } from './agent.ts';
import { Parts, sectionsOf, withoutSettings, type Definition, type Settings } from './definition.ts';

export interface TeamOptions<Agents extends readonly Agent[], Place extends string> extends Settings {
  /** The members. The tools of a member can also be names of plugins, such as `FileSystem`. */
  readonly agents: Agents;
  /** The strategy that selects the next agent. Default: one after another. */
  readonly selection?: TeamSelection<NoInfer<Agents[number]['id']>, Place> | undefined;
  readonly termination?: TeamTermination | undefined;
  /** Further keys of `Orchestration` as YAML has them, such as `Contracts`. */
  readonly more?: { readonly [field: string]: unknown } | undefined;
}

/**
 * A team. The input is the task; the output is the text of the last turn.
 * @example
 * const dev = team('dev', { agents: [planner, coder], selection: { Type: 'roundrobin' }, termination: { Type: 'maxiterations', MaxIterations: 6 } });
 */
export function beginTeam<const Agents extends readonly Agent[], const Place extends string = string>(
  id: string,
  options: TeamOptions<Agents, Place>,
): Definition<string, string, { readonly [node: string]: string }> {
  const { agents, selection, termination, more = {}, ...others } = withoutSettings(options);
  const parts = new Parts();
  for (const agent of agents) parts.addAgent(agent);
  const document = {
    ...parts.toolSection(),
    ...sectionsOf(options),
    Orchestration: present({
      Name: id,
      Description: options.description,
      Agents: agents.map(memberOf),
      Selection: selection,
      Termination: termination,
      ...others,
      ...more,
    }),
  };
  return Object.freeze({ id, document, tools: parts.implementations(), input: undefined });
}

const KNOWN: ReadonlySet<string> = new Set(['id', 'name', 'instructions', 'description', 'model', 'tools']);

function memberOf({ id, definition, instructions, description, model }: Agent): { readonly [field: string]: unknown } {
  const other = Object.keys(definition).find((field) => !KNOWN.has(field));
  if (other !== undefined)
    throw new SluiceError(
      'bad-definition',
      `\`${other}\` of the agent \`${id}\` has no meaning in a team`,
      'Leave it out.',
    );
  const { tools } = definition;
  return present({ Name: id, Instructions: instructions, Description: description, Model: model, Plugins: tools });
}

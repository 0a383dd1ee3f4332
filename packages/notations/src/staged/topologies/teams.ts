/** Teams of a hierarchy: every task goes to a team, which has five stages of its own. The team's output is its summary. */
import type { NodeId } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { nameOf, stepOf, within, type Lowering } from '../lowering.ts';
import type { Team, Work } from '../model.ts';
import { OUTPUT, PLACE, TASK, TASKS } from '../slots.ts';
import { addFanOut } from './fan-out.ts';
import { workerRuns } from './workers.ts';

/** Adds the stages of a team and returns their first node. */
export type AddStages = (starting: Omit<Lowering, 'visits'> & { readonly request: string }) => NodeId;

const WIDTH = 4;
const OUTER = 'team_task';

export function addTeams(
  l: Lowering,
  { teams }: Extract<Work, { is: 'teams' }>,
  addStages: AddStages,
  next: NodeId,
): NodeId {
  return addFanOut(l, { each: TASKS, widthMax: WIDTH, head: () => addTask(l, teams, addStages), next });
}

/** A task names its team as `worker`, or has the team's id, or goes to the teams in turn. */
function addTask(l: Lowering, teams: readonly Team[], addStages: AddStages): NodeId {
  const step = (what: string) => stepOf(l, l.staged.working.id, what);
  const ids = teams.map(({ id }) => quote(id)).join(', ');
  const cases = teams.map((team, index) => ({
    when: `${TASK}.worker == ${quote(team.id)} || (${TASK}.worker == null && (${TASK}.id == ${quote(team.id)} || (!(${TASK}.id in [${ids}]) && int(${TASK}_index) % ${teams.length} == ${index})))`,
    to: addTeam(l, team, addStages),
  }));
  const runs = workerRuns(l);
  const choose = l.kit.pick(step('team'), cases, l.builder.failedEnd());
  return l.kit.set(
    {
      ...step('task'),
      charges: [
        l.kit.visits(`tasks:${nameOf(l, l.staged.working.id)}`, runs, l.builder.failedEnd(), 'protections.spawn.max'),
      ],
    },
    [set(OUTER, TASK)],
    choose,
  );
}

function addTeam(l: Lowering, { id, staged }: Team, addStages: AddStages): NodeId {
  const name = `${l.staged.working.id}/${id}`;
  const done = l.builder.end({
    state: 'completed',
    code: 'SUCCESS',
    output: `{"id": ${OUTER}.id, "summary": ${OUTPUT}}`,
    origin: nameOf(l, name),
  });
  const prefix = `${nameOf(l, name)}/`;
  const team = { ...l, staged, prefix, startsMax: workerRuns(l), request: `${OUTER}.brief`, finished: done };
  const first = within(l, null, () => addStages(team));
  const outer = l.prefix === '' ? '' : `${PLACE}, `;
  const place = set(PLACE, `text(${outer}${quote(`${name}/`)}, ${OUTER}.id, "/")`);
  return l.kit.set({ ...stepOf(l, name, 'start'), enters: nameOf(l, name) }, [place], first);
}

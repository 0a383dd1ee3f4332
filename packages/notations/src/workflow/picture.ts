/** A workflow as something to draw: steps in a row, conditions as diamonds that can be passed by, batches side by side, loops. */
import { END, START, shape } from '@sluice-internal/compile/picture';
import type { Picture, PictureCycle, PictureEdge, PictureNode } from '@sluice-internal/compile/picture';
import { NOBODY, type Step, type Unit, type Workflow } from './model.ts';

/** `toolsOf` gives the tools of an agent. */
export function drawWorkflow(
  workflow: Workflow,
  units: readonly Unit[],
  description: string | null,
  toolsOf: (agent: string) => readonly string[],
): Picture {
  const drawing = new Drawing();
  drawing.enter(START);
  for (const unit of units) {
    if (unit.is === 'batch') drawBatch(drawing, unit.branches, unit.collect);
    else drawStep(drawing, unit.step);
  }
  drawing.enter(END);
  const { edges, cycles } = drawing;
  const agents = new Map(workflow.steps.map((step) => [idOf(step), step.agent]));
  const nodes = drawing.nodes.map((node) => {
    const tools = toolsOf(agents.get(node.id) ?? '');
    return tools.length === 0 ? node : { ...node, tools };
  });
  return { title: workflow.name, notation: 'workflow', description, nodes, edges, cycles };
}

type Exit = Omit<PictureEdge, 'to' | 'back'>;

/** Ways out stay open until the next node is entered, which all of them lead to. */
class Drawing {
  readonly nodes: PictureNode[] = [];
  readonly edges: PictureEdge[] = [];
  readonly cycles: PictureCycle[] = [];
  open: Exit[] = [];

  enter(node: PictureNode): void {
    this.nodes.push(node);
    for (const exit of this.open) this.edges.push({ ...exit, to: node.id, back: false });
    this.open = [route(node.id)];
  }
}

function drawStep(drawing: Drawing, step: Step): void {
  const id = idOf(step);
  const passed: Exit[] = [];
  if (step.mode === 'Conditional') {
    const asked = `${id}?`;
    drawing.enter(shape(asked, 'decision', `contains ${JSON.stringify(step.contains)}`));
    passed.push(route(asked, 'no'));
    drawing.open = [route(asked, 'yes')];
  }
  drawing.enter(nodeOf(step));
  if (step.mode === 'Loop') {
    const bound = `max_iterations: ${step.iterations}`;
    drawing.edges.push({ from: id, to: id, kind: 'route', label: 'again', back: true });
    drawing.cycles.push({ nodes: [id], bound });
    drawing.open = [
      route(id, `contains ${JSON.stringify(step.contains)}`),
      { from: id, kind: 'over', label: 'cap reached' },
    ];
  }
  drawing.open.push(...skips(step), ...passed);
}

function drawBatch(drawing: Drawing, branches: readonly Step[], collect: Step | null): void {
  const fork = `${branches[0] === undefined ? '' : idOf(branches[0])}.fan-out`;
  drawing.enter(shape(fork, 'parallel', 'fan out'));
  const ends: Exit[] = [];
  for (const branch of branches) {
    drawing.open = [{ from: fork, kind: 'branch', label: null }];
    drawing.enter(nodeOf(branch));
    ends.push({ from: idOf(branch), kind: 'join', label: null }, ...skips(branch));
  }
  drawing.open = ends;
  drawing.enter(
    collect === null
      ? shape(`${fork}.join`, 'join', 'join', 'all; the last output goes on')
      : shape(idOf(collect), 'join', collect.name, 'all; outputs are joined'),
  );
}

function nodeOf(step: Step): PictureNode {
  const retries = step.onError === 'Retry' ? `, ${step.retries} ${step.retries === 1 ? 'retry' : 'retries'}` : '';
  const detail = step.agent.startsWith(NOBODY) ? null : `${step.agent}${retries}`;
  return shape(idOf(step), 'agent', step.name, detail);
}

function skips(step: Step): readonly Exit[] {
  return step.onError === 'Skip' ? [{ from: idOf(step), kind: 'error', label: 'skip' }] : [];
}

function route(from: string, label: string | null = null): Exit {
  return { from, kind: 'route', label };
}

/** By position, since two steps may share a name. */
function idOf({ index }: Step): string {
  return `step-${index}`;
}

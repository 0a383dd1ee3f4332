/** Colours, in light and in dark. Every text keeps a contrast of at least 4.5 to 1 on its background in both. */
import type { ShapeKind } from '../picture.ts';

type Tones = { readonly [kind in ShapeKind]: { readonly fill: string; readonly stroke: string } };

const LIGHT = {
  paper: '#ffffff',
  ink: '#1b2430',
  faint: '#566170',
  route: '#64707f',
  branch: '#7c5cc4',
  error: '#c62f3b',
  over: '#a36300',
  /** Text of the checks on an edge. */
  guard: '#1f7a4d',
  tones: {
    start: { fill: '#2f3a48', stroke: '#2f3a48' },
    end: { fill: '#ffffff', stroke: '#2f3a48' },
    agent: { fill: '#e6f0fd', stroke: '#3b78c9' },
    tool: { fill: '#e4f6ec', stroke: '#2c9160' },
    decision: { fill: '#f3f4f6', stroke: '#6b7786' },
    approval: { fill: '#fff3d6', stroke: '#c48410' },
    parallel: { fill: '#f0eafc', stroke: '#7c5cc4' },
    join: { fill: '#f0eafc', stroke: '#7c5cc4' },
    terminal: { fill: '#eef1f4', stroke: '#2f3a48' },
  } satisfies Tones,
};

const DARK: typeof LIGHT = {
  paper: '#12161c',
  ink: '#e7ebf0',
  faint: '#a5b0bd',
  route: '#93a0af',
  branch: '#ab93ec',
  error: '#ff7d86',
  over: '#e5aa4a',
  guard: '#49b883',
  tones: {
    start: { fill: '#d7dde4', stroke: '#d7dde4' },
    end: { fill: '#12161c', stroke: '#d7dde4' },
    agent: { fill: '#172a44', stroke: '#5b9bef' },
    tool: { fill: '#12301f', stroke: '#49b883' },
    decision: { fill: '#232a33', stroke: '#8d99a8' },
    approval: { fill: '#3a2b0b', stroke: '#e2a634' },
    parallel: { fill: '#281f42', stroke: '#ab93ec' },
    join: { fill: '#281f42', stroke: '#ab93ec' },
    terminal: { fill: '#232a33', stroke: '#d7dde4' },
  },
};

export function styleSheet(): string {
  return `text{font-family:Inter,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif;text-anchor:middle}
.title{font-size:17px;font-weight:600;text-anchor:start}
.subtitle{font-size:12px;text-anchor:start}
.name{font-size:14px;font-weight:600}
.detail,.label,.tools{font-size:11.5px}
.tools{font-style:italic}
.label.guard{font-weight:600}
text.group{font-size:11.5px;text-anchor:start}
.group rect{stroke-width:1;stroke-dasharray:4 4}
.body{stroke-width:1.6}
.terminal .body{stroke-width:2.4}
.end .body{stroke-width:2}
.line{fill:none;stroke-width:1.2}
.bar{fill:none;stroke-width:5}
.edge{fill:none;stroke-width:1.5}
.edge.error{stroke-dasharray:6 4}
.edge.over{stroke-dasharray:1.5 4;stroke-linecap:round}
.edge.back{stroke-width:1.8}
rect.bound{stroke-width:1.3;stroke-dasharray:1.5 3;stroke-linecap:round}
${themed(LIGHT)}
@media (prefers-color-scheme:dark){
${themed(DARK)}
}`;
}

function themed({ paper, ink, faint, route, branch, error, over, guard, tones }: typeof LIGHT): string {
  const nodes = Object.entries(tones).map(
    ([kind, { fill, stroke }]) =>
      `.${kind} .body{fill:${fill};stroke:${stroke}}.${kind} .line,.${kind} .bar{stroke:${stroke}}`,
  );
  return [
    `.paper{fill:${paper}}.title,.name{fill:${ink}}.subtitle,.detail,.label,.tools,text.group{fill:${faint}}.group rect{fill:none;stroke:${faint}}.label.guard{fill:${guard}}`,
    `.end .core{fill:${tones.end.stroke}}.person{fill:${tones.approval.stroke}}`,
    `.edge{stroke:${route}}.edge.branch,.edge.join{stroke:${branch}}.edge.error{stroke:${error}}.edge.over{stroke:${over}}`,
    `.label.error{fill:${error}}.label.over,.label.bound{fill:${over}}.label.branch{fill:${branch}}rect.bound{fill:${paper};stroke:${over}}`,
    `.tip{fill:${route}}.tip.branch,.tip.join{fill:${branch}}.tip.error{fill:${error}}.tip.over{fill:${over}}`,
    ...nodes,
  ].join('\n');
}

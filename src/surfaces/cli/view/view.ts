/** Following a run with the eyes: the live view on a terminal, plain lines elsewhere, nothing when asked to be quiet. */
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { Cli } from '../context.ts';
import { createLiveView } from './live.ts';
import { createPlainView } from './plain.ts';
import type { View } from './progress.ts';

const SILENT: View = { take: () => undefined, hear: () => undefined, pause: () => undefined, end: () => undefined };

/** Events up to `known` are told as history: the lines leave them out, the live view shows where they led. */
export function createView(cli: Cli, run: string, flow: CompiledFlow, known: number): View {
  if (cli.quiet || cli.json) return SILENT;
  return cli.screen.live ? createLiveView(run, flow, cli.screen) : createPlainView(flow, known, cli.screen);
}

/** Chooses the view: live on a terminal, plain lines elsewhere, none with `--quiet`. */
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { Cli } from '../context.ts';
import { createLiveView } from './live.ts';
import { createPlainView } from './plain.ts';
import type { View } from './progress.ts';

const SILENT: View = { take: () => undefined, hear: () => undefined, pause: () => undefined, end: () => undefined };

/** Events up to `known` are history: plain lines leave them out. */
export function createView(cli: Cli, run: string, flow: CompiledFlow, known: number): View {
  if (cli.quiet || cli.json) return SILENT;
  return cli.screen.live ? createLiveView(run, flow, cli.screen) : createPlainView(flow, known, cli.screen);
}

/** `sluice graph`: draws the flow. A document with mistakes is drawn as far as it can be read. */
import type { Direction, Picture } from '../../../compile/picture/picture.ts';
import { renderDot } from '../../../compile/picture/dot.ts';
import { renderMermaid } from '../../../compile/picture/mermaid.ts';
import { renderSvg } from '../../../compile/picture/svg/svg.ts';
import type { Options } from '../command-table.ts';
import { FAILED, OK, type Cli, type ExitStatus } from '../context.ts';
import { failedCompile, renderAll } from '../diagnostics.ts';
import { compileFile } from '../document.ts';

export async function graphCommand(
  cli: Cli,
  file: string,
  { format, direction }: Options<'graph'>,
): Promise<ExitStatus> {
  const compiled = await compileFile(file);
  const { graph, ok, diagnostics } = compiled.result;
  if (graph === undefined) throw failedCompile(compiled);
  if (!ok) cli.screen.note(renderAll(diagnostics, compiled.text, cli.screen, file));
  if (cli.json || format === 'json') cli.printJson(graph);
  else cli.screen.printData(RENDERERS[format](graph, direction).trimEnd());
  return ok ? OK : FAILED;
}

const RENDERERS: {
  readonly [format in 'mermaid' | 'dot' | 'svg']: (picture: Picture, direction: Direction) => string;
} = {
  mermaid: renderMermaid,
  dot: renderDot,
  svg: renderSvg,
};

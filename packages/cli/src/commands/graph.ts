/** `sluice graph`: draws the flow. A document with mistakes is drawn as far as it can be read. */
import { renderDot, renderMermaid, renderSvg } from '@sluice-internal/compile/picture';
import type { Direction, Picture } from '@sluice-internal/compile/picture';
import { FAILED, OK, compileFile, failedCompile, renderAll } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';

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

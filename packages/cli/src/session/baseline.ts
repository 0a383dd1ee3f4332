/** Reads an earlier report, to compare with. */
import { METRICS } from '@sluice-internal/evals/metrics';
import type { Figure } from '@sluice-internal/evals/metrics';
import { SluiceError } from '@sluice-internal/engine/ports';
import { readText, shellWord } from '@sluice-internal/library/documents';

export function readBaseline(file: string): readonly Figure[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readText(file));
  } catch (error) {
    if (error instanceof SluiceError) throw error.code === 'file-not-found' ? notWritten(file, error) : error;
    throw notAReport(file, (error as Error).message);
  }
  const figures = (parsed as { figures?: unknown } | null)?.figures;
  if (!Array.isArray(figures) || !figures.every(isFigure)) throw notAReport(file, 'it has no `figures`');
  return figures;
}

function isFigure(value: unknown): value is Figure {
  const { id, moments } = (value ?? {}) as { id?: unknown; moments?: unknown };
  return METRICS.some((metric) => metric.id === id) && typeof moments === 'object' && moments !== null;
}

/** The first run has nothing to compare with. */
function notWritten(file: string, { code, message }: SluiceError): SluiceError {
  const help = `Write it once, without \`--baseline\`, with \`--report ${shellWord(file)}\`; later runs compare with it.`;
  return new SluiceError(code, `${message} to compare with`, help);
}

function notAReport(file: string, why: string): SluiceError {
  return new SluiceError(
    'bad-baseline',
    `\`${file}\` is not a report that can be compared with: ${why}`,
    'Write one with `--report report.json`.',
  );
}

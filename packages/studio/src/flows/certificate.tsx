/** What a run can cost: the least and the most of each measure, and what changed since the text was saved. */
import type { ReactElement } from 'react';
import { count, dollars } from '../ui/format.ts';
import type { Bounds } from './flow-data.ts';

const NAMES: { readonly [measure: string]: string } = {
  steps: 'Steps',
  modelCalls: 'Model calls',
  toolCalls: 'Tool calls',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  tokens: 'Tokens',
  costUsd: 'Cost',
  retries: 'Retries',
  reflections: 'Reflections',
  sideEffects: 'Side effects',
  undoCalls: 'Undo calls',
};

interface CertificateProps {
  readonly now: Bounds | null;
  readonly saved: Bounds | null;
  readonly isChanged: boolean;
}

export function Certificate({ now, saved, isChanged }: CertificateProps): ReactElement {
  if (now === null) return <p className="text-2">The certificate appears when the text has no mistakes.</p>;
  const measures = Object.keys(NAMES).filter((measure) => isBound(now[measure]));
  return (
    <table className="table certificate">
      <thead>
        <tr>
          <th>A run takes</th>
          <th className="right">at least</th>
          <th className="right">at most</th>
          {isChanged && <th className="right">since saved</th>}
        </tr>
      </thead>
      <tbody>
        {measures.map((measure) => (
          <tr key={measure}>
            <td>{NAMES[measure]}</td>
            <td className="right num">{shown(measure, now[measure]?.least ?? 0)}</td>
            <td className="right num">{shown(measure, now[measure]?.most ?? null)}</td>
            {isChanged && <td className="right num text-2">{difference(measure, now, saved)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function isBound(bound: Bounds[string]): boolean {
  return bound !== undefined && typeof bound === 'object' && 'most' in bound;
}

function shown(measure: string, value: number | null): string {
  if (value === null) return 'no limit';
  return measure === 'costUsd' ? dollars(value) : count(value);
}

function difference(measure: string, now: Bounds, saved: Bounds | null): string {
  const [one, other] = [now[measure]?.most ?? null, saved?.[measure]?.most ?? null];
  if (one === other) return '–';
  if (one === null) return 'no limit now';
  if (other === null) return saved === null ? 'new' : 'limited now';
  return `${one > other ? '+' : '−'}${shown(measure, Math.abs(one - other))}`;
}

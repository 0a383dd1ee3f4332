/** The filters of the list of runs. They are in the address. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState, type ReactElement } from 'react';
import { flowsQuery, type RunFilter } from '../data/server.ts';
import { useParameters } from '../data/url.ts';
import { Icon } from '../ui/icon.tsx';

const STATES = ['running', 'suspended', 'completed', 'failed', 'cancelled', 'pending'];
const SINCE = { '1h': 'last hour', '24h': 'last day', '7d': 'last week', '30d': 'last month' } as const;
const CODES = [
  ...['SUCCESS', 'PARTIAL_SUCCESS', 'UNVERIFIED', 'BUDGET_EXHAUSTED', 'TIMEOUT', 'POLICY_BLOCKED', 'TOOL_FAILURE'],
  ...['MODEL_FAILURE', 'CANCELLED'],
];

export function Filters({ filter }: { readonly filter: RunFilter }): ReactElement {
  const { data: flows } = useQuery(flowsQuery);
  const set = useParameters();
  const choose = (name: keyof RunFilter) => (value: string) =>
    set({ [name]: value === '' ? undefined : value }, { push: true });
  return (
    <div className="filters">
      <Choice
        label="State"
        value={filter.status}
        onChange={choose('status')}
        options={STATES.map((each) => [each, each])}
      />
      <Choice
        label="Flow"
        value={filter.flow}
        onChange={choose('flow')}
        options={(flows?.items ?? []).map(({ id }) => [id, id])}
      />
      <Choice label="Code" value={filter.code} onChange={choose('code')} options={CODES.map((each) => [each, each])} />
      <Choice label="Time" value={filter.since} onChange={choose('since')} options={Object.entries(SINCE)} />
      <IdSearch value={filter.q} />
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}

function Choice({ label, value = '', options, onChange }: ChoiceProps): ReactElement {
  const known = value === '' || options.some(([id]) => id === value) ? options : [[value, value] as const, ...options];
  return (
    <select
      className={`select ${value === '' ? 'text-2' : ''}`}
      aria-label={label}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">{label}</option>
      {known.map(([id, word]) => (
        <option key={id} value={id}>
          {word}
        </option>
      ))}
    </select>
  );
}

const TYPED_MS = 200;

function IdSearch({ value = '' }: { readonly value: string | undefined }): ReactElement {
  const [text, setText] = useState(value);
  const set = useParameters();
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => set({ q: text.trim() === '' ? undefined : text.trim() }), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text, value, set]);
  return (
    <label className="search">
      <Icon name="search" />
      <input
        data-search
        type="search"
        aria-label="Beginning of a run's id"
        placeholder="Run id"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}

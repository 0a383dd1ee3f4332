/** The start of a run: a field for each part of the input, and who plays the models. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { server } from '../data/server.ts';
import { useMay } from '../data/me.ts';
import { Button, ProblemNote, Safe } from '../ui/parts.tsx';
import { scriptsQuery, type FlowDetails } from './flow-data.ts';
import { fieldsOf, inputOf, type Field } from './input-fields.ts';

interface FormProps {
  readonly flow: FlowDetails;
  /** The text on the page is not what runs. */
  readonly isChanged: boolean;
}

export function StartForm({ flow, isChanged }: FormProps): ReactElement {
  const fields = fieldsOf(flow.input);
  const [values, setValues] = useState<{ readonly [name: string]: string }>({});
  const [script, setScript] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isStarting, setStarting] = useState(false);
  const mayStart = useMay('operator');
  const { data } = useQuery({ ...scriptsQuery, enabled: mayStart });
  const navigate = useNavigate();
  const scripts = data?.items ?? [];
  const chosen = script ?? scripts.find((name) => flow.file.startsWith(`${name}.`)) ?? '';
  const start = async (): Promise<void> => {
    setStarting(true);
    setError(null);
    try {
      const input = inputOf(fields, values);
      const run = await server.flow(flow.id).start(input, chosen === '' ? {} : { script: chosen });
      await navigate({ to: '/runs/$run', params: { run: run.id } });
    } catch (problem) {
      setError(problem);
      setStarting(false);
    }
  };
  return (
    <form
      className="start"
      aria-label="Start"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {fields.map((field) => (
        <InputField
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <label className="field">
        <span>Models and tools</span>
        <select className="select" value={chosen} onChange={({ target }) => setScript(target.value)}>
          <option value="">real: the models and tools of the document</option>
          {scripts.map((name) => (
            <option key={name} value={name}>
              script: {name}
            </option>
          ))}
        </select>
      </label>
      {isChanged && <p className="ink-waiting">The saved text runs, not the one that you have changed.</p>}
      {!flow.ok && <p className="ink-failed">A flow with mistakes does not run.</p>}
      {error !== null && <ProblemNote error={error} />}
      <div>
        <Button type="submit" kind="primary" icon="play" disabled={!mayStart || !flow.ok || isStarting}>
          {chosen === '' ? 'Run with model' : 'Run with script'}
        </Button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly field: Field;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function InputField({ field, value, onChange }: FieldProps): ReactElement {
  const { name, about, kind, choices, isNeeded } = field;
  return (
    <label className="field">
      <span>
        <Safe text={name} />
        {isNeeded ? '' : ' (not needed)'}
        {about === null ? '' : ': '}
        {about !== null && <Safe text={about} />}
      </span>
      {choices !== null ? (
        <select className="select" value={value} required={isNeeded} onChange={({ target }) => onChange(target.value)}>
          <option value="" />
          {choices.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      ) : kind === 'number' ? (
        <input
          className="input"
          type="number"
          step="any"
          required={isNeeded}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      ) : (
        <textarea
          className={`input ${kind === 'json' ? 'mono' : ''}`}
          rows={kind === 'json' ? 4 : 3}
          required={isNeeded}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </label>
  );
}

/** The flows of this server. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { flowsQuery } from '../data/server.ts';
import type { FlowRow } from '../data/types.ts';
import { Page } from '../shell/page.tsx';
import { plural } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Empty, Loading, Problem } from '../ui/parts.tsx';

export function FlowsPage(): ReactElement {
  const { data, error, refetch } = useQuery(flowsQuery);
  return (
    <Page title="Flows">
      {data === undefined &&
        (error === null ? <Loading what="flows" /> : <Problem error={error} onRetry={() => void refetch()} />)}
      {data?.items.length === 0 && (
        <Empty icon="flows" title="No flow yet" command="sluice init">
          A flow is a document in a served folder.
        </Empty>
      )}
      {data !== undefined && data.items.length > 0 && <FlowTable flows={data.items} />}
    </Page>
  );
}

function FlowTable({ flows }: { readonly flows: readonly FlowRow[] }): ReactElement {
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Flow</th>
          <th>Notation</th>
          <th>File</th>
          <th>Versions</th>
          <th>Check</th>
        </tr>
      </thead>
      <tbody>
        {flows.map(({ id, file, notation, ok, versions }) => (
          <tr key={id}>
            <td>
              <Link to="/flows/$flow" params={{ flow: id }} className="link strong">
                {id}
              </Link>
            </td>
            <td>{notation ?? ''}</td>
            <td className="mono">{file}</td>
            <td className="num">{plural(versions.length, 'version')}</td>
            <td>
              {ok ? (
                <span className="tag is-ok">holds</span>
              ) : (
                <span className="tag is-failed">
                  <Icon name="warning" /> has mistakes
                </span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The frame of every page: its title or path, its actions, the connection, and its content. */
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import { useConnection } from '../data/live.ts';
import { Button } from '../ui/parts.tsx';
import { ConnectionStatus } from './connection.tsx';
import { toggleMenu } from './menu.ts';

interface PageProps {
  readonly title: string;
  /** The pages above this one. */
  readonly above?: readonly { readonly title: string; readonly to: string }[];
  /** Beside the title. */
  readonly badge?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, above = [], badge, actions, children }: PageProps): ReactElement {
  const connection = useConnection();
  return (
    <div className="main">
      <header className="top">
        <Button kind="quiet" icon="menu" className="menu-button" aria-label="Menu" onClick={toggleMenu} />
        {above.length === 0 ? (
          <h1>{title}</h1>
        ) : (
          <nav className="crumbs" aria-label="Path">
            {above.map(({ title: each, to }) => (
              <span key={to} className="crumbs">
                <Link to={to}>{each}</Link>
                <span aria-hidden="true">/</span>
              </span>
            ))}
            <h1 className="here mono ellipsis">{title}</h1>
          </nav>
        )}
        {badge}
        <span className="grow" />
        <ConnectionStatus />
        {actions}
      </header>
      <main className={`content ${connection === 'reconnecting' ? 'is-stale' : ''}`}>{children}</main>
    </div>
  );
}

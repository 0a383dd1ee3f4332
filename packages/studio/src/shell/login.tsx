/** Who comes without a session: pastes a token, or logs in at the issuer. */
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { logInAtIssuer, logInWithToken } from '../data/session.ts';
import type { Session } from '../data/types.ts';
import { Mark } from '../ui/icon.tsx';
import { Button, ProblemNote } from '../ui/parts.tsx';

export function Login({ issuer }: { readonly issuer: Session['login'] }): ReactElement {
  const [token, setToken] = useState('');
  const login = useMutation({ mutationFn: () => logInWithToken(token.trim()) });
  return (
    <main className="login">
      <form
        aria-label="Log in"
        onSubmit={(event) => {
          event.preventDefault();
          login.mutate();
        }}
      >
        <div className="brand">
          <Mark /> Sluice
        </div>
        <h1>Log in</h1>
        <p className="text-2">
          <code>sluice serve</code> and <code>sluice dev</code> print an address that opens this page without a
          question. It works once.
        </p>
        {issuer !== null && (
          <Button kind="primary" onClick={() => void logInAtIssuer(issuer)}>
            Log in at {new URL(issuer.issuer).host}
          </Button>
        )}
        <label className="field">
          <span>Token</span>
          <input
            className="input mono"
            type="password"
            autoComplete="off"
            placeholder="slk_…"
            value={token}
            onChange={({ target }) => setToken(target.value)}
          />
        </label>
        {login.isError && <ProblemNote error={login.error} />}
        <Button
          type="submit"
          kind={issuer === null ? 'primary' : 'plain'}
          disabled={token.trim() === '' || login.isPending}
        >
          Log in
        </Button>
        <p className="text-3">
          <code>sluice tokens add NAME --access viewer</code> makes a token.
        </p>
      </form>
    </main>
  );
}

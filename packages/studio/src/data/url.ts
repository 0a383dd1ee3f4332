/** Filters and selections live in the address. An empty value leaves it. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

type Value = string | number | undefined;
export type Search = { readonly [name: string]: Value };

/** Only texts and numbers with these names. */
export function searchOf<Name extends string>(
  given: { readonly [name: string]: unknown },
  names: readonly Name[],
): { readonly [name in Name]?: string | number } {
  const known = names.flatMap((name) => {
    const value = given[name];
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(known) as { readonly [name in Name]?: string | number };
}

/** The text of a parameter of this page. */
export function useParameter(name: string): string | undefined {
  const search: Search = useSearch({ strict: false });
  return search[name] === undefined ? undefined : String(search[name]);
}

/** Changes parameters of this page. Without `push` the browser's history has one entry for the page. */
export function useParameters(): (change: Search, options?: { readonly push?: boolean }) => void {
  const navigate = useNavigate();
  return useCallback(
    (change, { push = false } = {}) =>
      void navigate({ to: '.', search: (before: Search) => ({ ...before, ...change }), replace: !push }),
    [navigate],
  );
}

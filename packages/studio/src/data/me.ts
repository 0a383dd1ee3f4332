/** What the caller may do. The server decides; the page only leaves out what would be refused. */
import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from './server.ts';
import type { Access, Me } from './types.ts';

export function useMe(): Me | null {
  return useQuery(sessionQuery).data?.me ?? null;
}

export function useMay(access: Access): boolean {
  const me = useMe();
  return me !== null && (me.access.includes(access) || me.access.includes('admin'));
}

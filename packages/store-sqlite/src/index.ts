/** What other packages use of `store-sqlite`. */
export { attachmentFileOf, attachmentsBeside } from './attachment-store.ts';
export { IN_MEMORY, createPrivate } from './database.ts';
export { faultOf } from './faults.ts';
export { createMemoryStore, memoryBeside, memoryFileOf, openMemoryStore } from './memory-store.ts';
export { openSqlite } from './open.ts';
export { loosePermissions } from './permissions.ts';
export { openPiiStore, piiFileOf } from './pii-store.ts';

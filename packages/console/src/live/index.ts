/** What the server says, as it changes: hooks over the SDK's informers. */
export { type Access, accessTo, type Permission, useAccess } from "./access.ts";
export { type Connection, connection, now } from "./connection.ts";
export { useResource, useResources } from "./discovery.ts";
export { nameSelector, useLiveObjects } from "./live-objects.ts";
export { useLiveTable } from "./live-tables.ts";
export { type Loaded, useLoaded } from "./loaded.ts";

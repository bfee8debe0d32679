/** Every built-in kind, in discovery order: groups as upstream ranks them, the kinds of a group by their plural names. */
import type { ResourceDefinition } from "../definition.ts";
import { configMaps } from "./core/configmaps.ts";
import { events } from "./core/events.ts";
import { namespaces } from "./core/namespaces.ts";
import { secrets } from "./core/secrets.ts";
import { eventsV1 } from "./events/events.ts";

export const builtIns: readonly ResourceDefinition[] = [
  configMaps,
  events,
  namespaces,
  secrets,
  eventsV1,
];

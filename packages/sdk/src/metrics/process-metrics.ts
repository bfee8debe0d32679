/**
 * The registry of this process, as controller-runtime has one: queues and controllers that get no
 * registry of their own count there, so that one endpoint shows all of them.
 */
import { MetricsRegistry } from "./registry.ts";

export const processMetrics = new MetricsRegistry();

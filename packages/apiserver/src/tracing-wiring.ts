/** Wiring of traces: a TracingConfiguration becomes a tracer. */
import { hostname } from "node:os";
import { type Clock, kcpVersion } from "@kcp-ts/machinery/base";
import { parseManifests } from "./manifests/index.ts";
import type { ServerLog } from "./server-log.ts";
import { parseTracingConfig, SpanExporter, Tracer } from "./tracing/index.ts";

const reportEveryMs = 60_000;

export function tracerOf(
  config: string,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<ServerLog, "warn"> },
): Tracer {
  const [document] = parseManifests(config, "the TracingConfiguration");
  const { endpoint, samplingRatePerMillion } = parseTracingConfig(document);
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  let dropped = 0;
  const exporter = new SpanExporter({
    endpoint,
    service: {
      "service.name": "kcp",
      "service.version": kcpVersion,
      "service.instance.id": hostname(),
    },
    clock,
    onDropped(count, error) {
      dropped += count;
      if (clock.monotonic() - reportedAtMs < reportEveryMs) return;
      reportedAtMs = clock.monotonic();
      log.warn({ err: error, dropped, endpoint: endpoint.href }, "spans were not exported");
    },
  });
  return new Tracer(exporter, samplingRatePerMillion, clock);
}

/** Wiring: audit's record of a request, kept on the exchange, and its events. */

import type { Clock, Resumable } from "@kcp-ts/machinery/base";
import { bounds, parseBoundedResumable } from "@kcp-ts/machinery/bounds";
import type { JsonValue } from "@kcp-ts/machinery/json";
import {
  Audit,
  type AuditBackend,
  AuditMetrics,
  type AuditPolicy,
  type Decode,
} from "../audit/index.ts";
import {
  decodeBodyResumable,
  isJsonLike,
  isShortYaml,
  isYamlType,
  mediaTypeOf,
  translateYaml,
} from "../content/index.ts";
import type { ServerMetrics } from "../metrics/index.ts";
import { apiVersionOf } from "../registry/index.ts";
import type { ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { ServerLog } from "../server-log.ts";
import type { Exchange } from "./exchange.ts";

export interface AuditWiringOptions {
  readonly policy: AuditPolicy;
  readonly backends: (observer: BackendObserver) => readonly AuditBackend[];
}

export interface BackendObserver {
  onDropped(plugin: string, events: number): void;
  onError(plugin: string, error: unknown): void;
}

export function composeAudit(
  options: AuditWiringOptions | undefined,
  { clock, metrics, log }: AuditWiringDependencies,
): Audit | undefined {
  if (options === undefined) return undefined;
  const counted = new AuditMetrics(metrics.registry);
  const onDropped = (plugin: string, events: number) => counted.onDropped(plugin, events);
  const onError = (plugin: string, error: unknown) =>
    log.warn({ err: error, plugin }, "audit events were not taken");
  const backends = options.backends({ onDropped, onError });
  const onEvent = (level: string) => counted.onEvent(level);
  const onUnmade = (error: unknown) => {
    onDropped("events", 1);
    onError("events", error);
  };
  const onLeftOut = () => counted.onDropped("refusals", 1);
  const told = { onEvent, onLeftOut, onError: onUnmade };
  return new Audit({ policy: options.policy, backends, clock, ...told });
}

interface AuditWiringDependencies {
  readonly clock: Clock;
  readonly metrics: ServerMetrics;
  readonly log: Pick<ServerLog, "warn">;
}

export function startAuditRecord(exchange: Exchange, audit: Audit, clock: Clock): void {
  exchange.receivedAt = clock.now();
  exchange.audit = audit.begin(exchange);
}

export function finishAuditRecord(
  exchange: Exchange,
  response: ApiResponse,
  audit: Audit,
  clock: Clock,
): MaybePromise<ApiResponse> {
  if (exchange.audit !== undefined)
    return audit.answered(exchange.audit, response, decoderOf(exchange));
  // The policy has been asked, and has nothing to say.
  if (exchange.receivedAt !== 0) return response;
  exchange.receivedAt = clock.now() - (clock.monotonic() - exchange.startedAt);
  if (response.status === 401) audit.unauthenticated(exchange, response);
  else audit.refused(exchange, response);
  return response;
}

/** Bodies are shown as JSON, whatever they came as; what cannot be read is not shown. */
function decoderOf(exchange: Exchange): Decode {
  return function* (bytes, contentType): Resumable<JsonValue | undefined> {
    const mediaType = mediaTypeOf(contentType);
    const { definition } = exchange;
    try {
      if (mediaType.endsWith("protobuf") && definition !== undefined) {
        const { kind, strategy } = definition;
        const expected = { kind, apiVersion: apiVersionOf(definition), shape: strategy.shape };
        return (yield* decodeBodyResumable({ bytes, contentType }, expected)).value;
      }
      return isYamlType(mediaType) && !isJsonLike(bytes)
        ? yield* decodeUnreadBody(exchange, bytes)
        : yield* parse(bytes);
    } catch {
      // The client has been told what is wrong with it; here it is only missing.
      return undefined;
    }
  };
}

function* parse(bytes: Uint8Array): Resumable<JsonValue> {
  return (yield* parseBoundedResumable(bounds.requestBody, bytes)).value;
}

/** YAML that was read for the request is JSON by now. This is wrong, or was sent on as it came, or its sender did not wait for it to be read. */
function* decodeUnreadBody(
  { yaml, audit }: Exchange,
  bytes: Uint8Array,
): Resumable<JsonValue | undefined> {
  if (yaml !== undefined) return undefined;
  if (!isShortYaml(bytes)) {
    audit?.annotate("audit.kcp.io/body-left-out", "it is long YAML that was not read here");
    return undefined;
  }
  const translated = translateYaml(Buffer.from(bytes).toString("utf8"));
  return "json" in translated ? yield* parse(translated.json) : undefined;
}

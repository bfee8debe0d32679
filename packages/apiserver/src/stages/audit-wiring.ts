/** Wires audit: keeps the audit record on the request context, and emits its events. */
import type { Clock, Resumable } from "@kcp-ts/machinery/base";
import { bounds, parseBoundedResumable } from "@kcp-ts/machinery/bounds";
import type { JsonValue } from "@kcp-ts/machinery/json";
import {
  Audit,
  type AuditBackend,
  AuditMetrics,
  type AuditPolicy,
  AuditTail,
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
import type { ApiResponse } from "../request/api-request.ts";
import type { ServerLog } from "../server-log.ts";
import type { RequestContext } from "./request-context.ts";

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
  const tail = new AuditTail({
    onDropped: (events) => onDropped("tail", events),
    onError: (error) => onError("tail", error),
  });
  const backends = [...options.backends({ onDropped, onError }), tail];
  const onEvent = (level: string) => counted.onEvent(level);
  const onUnmade = (error: unknown) => {
    onDropped("events", 1);
    onError("events", error);
  };
  const onOmitted = () => counted.onDropped("refusals", 1);
  const told = { onEvent, onOmitted, onError: onUnmade };
  return new Audit({ policy: options.policy, backends, tail, clock, ...told });
}

interface AuditWiringDependencies {
  readonly clock: Clock;
  readonly metrics: ServerMetrics;
  readonly log: Pick<ServerLog, "warn">;
}

export function startAuditRecord(context: RequestContext, audit: Audit, clock: Clock): void {
  context.receivedAt = clock.now();
  context.audit = audit.begin(context);
}

export async function finishAuditRecord(
  context: RequestContext,
  response: ApiResponse,
  audit: Audit,
  clock: Clock,
): Promise<ApiResponse> {
  if (context.audit !== undefined)
    return audit.responded(context.audit, response, decoderOf(context));
  // The audit policy was evaluated, and has no rule for the request.
  if (context.receivedAt !== 0) return response;
  context.receivedAt = clock.now() - (clock.monotonic() - context.startedAt);
  if (response.status === 401) audit.unauthenticated(context, response);
  else audit.rejected(context, response);
  return response;
}

/** Bodies are recorded as JSON, whatever their content type; undecodable bodies are omitted. */
function decoderOf(context: RequestContext): Decode {
  return function* (bytes, contentType): Resumable<JsonValue | undefined> {
    const mediaType = mediaTypeOf(contentType);
    const { definition } = context;
    try {
      if (mediaType.endsWith("protobuf") && definition !== undefined) {
        const { kind, strategy } = definition;
        const expected = { kind, apiVersion: apiVersionOf(definition), shape: strategy.shape };
        return (yield* decodeBodyResumable({ bytes, contentType }, expected)).value;
      }
      return isYamlType(mediaType) && !isJsonLike(bytes)
        ? yield* decodeUnreadBody(context, bytes)
        : yield* parse(bytes);
    } catch {
      // The response reports the decoding error; the audit event only omits the body.
      return undefined;
    }
  };
}

function* parse(bytes: Uint8Array): Resumable<JsonValue> {
  return (yield* parseBoundedResumable(bounds.requestBody, bytes)).value;
}

/**
 * YAML that was decoded for the request is JSON by now. A body that is still YAML is invalid, or
 * was forwarded, or its client left before it was decoded.
 */
function* decodeUnreadBody(
  { yaml, audit }: RequestContext,
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

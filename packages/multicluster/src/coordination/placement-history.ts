/**
 * The last decisions about a workload, in an annotation of the workload: Events expire after an
 * hour, and questions about a placement arise later. The value is a JSON list, the newest entry
 * first; a new desired assignment adds an entry, a step towards it does not.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type StringMap, stringMember, timestamp } from "@kcp-ts/sdk";

export const placementHistoryAnnotation = "workload.kcp.io/placement-history";

export interface PlacementRecord {
  readonly time: string;
  readonly replicas: number;
  /** Desired replicas by cluster; clusters without replicas are omitted. */
  readonly assigned: Readonly<Record<string, number>>;
  /**
   * Retained replicas by cluster: replicas that should leave the cluster and have no feasible
   * cluster.
   */
  readonly retained?: Readonly<Record<string, number>>;
  /**
   * Incoming ordinals by cluster: ordinals that have left another cluster, and whose destination is
   * not decided yet.
   */
  readonly inFlight?: Readonly<Record<string, number>>;
  /** The reasons that excluded clusters or limited their replicas. */
  readonly reasons: readonly string[];
}

export const recordsMax = 10;
const reasonsMax = 8;
const reasonCharactersMax = 200;

/** The history, the newest entry first; empty when the annotation cannot be parsed. */
export function readPlacementHistory(
  annotations: StringMap | undefined,
): readonly PlacementRecord[] {
  const text = stringMember(annotations, placementHistoryAnnotation) ?? "[]";
  if (text !== lastRead.text) lastRead = { text, records: recordsIn(text) };
  return lastRead.records;
}

/** The last parse result: one decision reads the same annotation several times. */
let lastRead: { readonly text: string; readonly records: readonly PlacementRecord[] } = {
  text: "[]",
  records: [],
};

function recordsIn(text: string): readonly PlacementRecord[] {
  try {
    const records: unknown = JSON.parse(text);
    return Array.isArray(records) ? records.filter(isRecord) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function isRecord(value: unknown): value is PlacementRecord {
  if (typeof value !== "object" || value === null) return false;
  const {
    time,
    assigned,
    retained = {},
    inFlight = {},
    reasons,
  } = value as Partial<PlacementRecord>;
  const isSplit = (one: unknown) => typeof one === "object" && one !== null;
  const areSplits = [assigned, retained, inFlight].every(isSplit);
  return typeof time === "string" && areSplits && Array.isArray(reasons);
}

/**
 * The desired replicas of a record in the selected clusters; in all clusters if `isIn` is omitted.
 */
export function desiredReplicasIn(
  { assigned, retained = {}, inFlight = {} }: PlacementRecord,
  isIn: (cluster: string) => boolean = () => true,
): number {
  let sum = 0;
  for (const shares of [assigned, retained, inFlight])
    for (const cluster of Object.keys(shares)) if (isIn(cluster)) sum += shareIn(shares, cluster);
  return sum;
}

/** Users may write annotations, so the value is validated. */
export function shareIn(shares: PlacementRecord["retained"], cluster: string): number {
  const share: unknown = shares?.[cluster];
  return typeof share === "number" && Number.isSafeInteger(share) && share > 0 ? share : 0;
}

/** The annotation with one more entry; undefined when the newest entry is the same. */
export function withPlacementRecord(
  annotations: StringMap | undefined,
  { replicas, assigned, retained, inFlight, reasons }: Omit<PlacementRecord, "time">,
  nowMs: number,
): string | undefined {
  const known = readPlacementHistory(annotations);
  const [newest] = known;
  const isSame =
    newest !== undefined &&
    newest.replicas === replicas &&
    jsonEqual(newest.assigned as JsonValue, assigned as JsonValue) &&
    jsonEqual((newest.retained ?? {}) as JsonValue, (retained ?? {}) as JsonValue) &&
    jsonEqual((newest.inFlight ?? {}) as JsonValue, (inFlight ?? {}) as JsonValue);
  if (isSame) return undefined;
  const record: PlacementRecord = {
    time: timestamp(nowMs),
    replicas,
    assigned,
    ...(retained === undefined ? {} : { retained }),
    ...(inFlight === undefined ? {} : { inFlight }),
    reasons: reasons.slice(0, reasonsMax).map((one) => one.slice(0, reasonCharactersMax)),
  };
  return JSON.stringify([record, ...known].slice(0, recordsMax));
}

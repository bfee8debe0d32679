/**
 * The last decisions about a whole, on the whole itself: Events are gone after an hour, and the question why comes later. A list in JSON, the newest
 * first; an entry is made when the goal is another one, not for every step towards it.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type StringMap, stringMember, timestamp } from "@kcp-ts/sdk";

export const placementHistoryAnnotation = "scheduling.kcp.io/placement-history";

export interface PlacementRecord {
  readonly time: string;
  readonly replicas: number;
  /** By cluster, those with a share only. */
  readonly split: Readonly<Record<string, number>>;
  /** By cluster: what stays where it should not be, because it has nowhere to go. */
  readonly kept?: Readonly<Record<string, number>>;
  /** By cluster: numbers that have left another, and of which is not decided yet where they go. */
  readonly coming?: Readonly<Record<string, number>>;
  /** What kept it from clusters, or made their share smaller. */
  readonly because: readonly string[];
}

export const recordsMax = 10;
const reasonsMax = 8;
const reasonCharactersMax = 200;

/** The newest first; what cannot be read is none. */
export function readPlacementHistory(
  annotations: StringMap | undefined,
): readonly PlacementRecord[] {
  const text = stringMember(annotations, placementHistoryAnnotation) ?? "[]";
  if (text !== lastRead.text) lastRead = { text, records: recordsIn(text) };
  return lastRead.records;
}

/** One decision asks for it again and again. */
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
  const { time, split, kept = {}, coming = {}, because } = value as Partial<PlacementRecord>;
  const isSplit = (one: unknown) => typeof one === "object" && one !== null;
  const areSplits = [split, kept, coming].every(isSplit);
  return typeof time === "string" && areSplits && Array.isArray(because);
}

/** How many there were to be in some clusters; in all of them if left out. */
export function desiredReplicasIn(
  { split, kept = {}, coming = {} }: PlacementRecord,
  isIn: (cluster: string) => boolean = () => true,
): number {
  let sum = 0;
  for (const shares of [split, kept, coming])
    for (const cluster of Object.keys(shares)) if (isIn(cluster)) sum += shareIn(shares, cluster);
  return sum;
}

/** Anybody may write annotations. */
export function shareIn(shares: PlacementRecord["kept"], cluster: string): number {
  const share: unknown = shares?.[cluster];
  return typeof share === "number" && Number.isSafeInteger(share) && share > 0 ? share : 0;
}

/** The annotation with one more entry; undefined when the newest says the same. */
export function withPlacementRecord(
  annotations: StringMap | undefined,
  { replicas, split, kept, coming, because }: Omit<PlacementRecord, "time">,
  nowMs: number,
): string | undefined {
  const known = readPlacementHistory(annotations);
  const [newest] = known;
  const isSame =
    newest !== undefined &&
    newest.replicas === replicas &&
    jsonEqual(newest.split as JsonValue, split as JsonValue) &&
    jsonEqual((newest.kept ?? {}) as JsonValue, (kept ?? {}) as JsonValue) &&
    jsonEqual((newest.coming ?? {}) as JsonValue, (coming ?? {}) as JsonValue);
  if (isSame) return undefined;
  const record: PlacementRecord = {
    time: timestamp(nowMs),
    replicas,
    split,
    ...(kept === undefined ? {} : { kept }),
    ...(coming === undefined ? {} : { coming }),
    because: because.slice(0, reasonsMax).map((one) => one.slice(0, reasonCharactersMax)),
  };
  return JSON.stringify([record, ...known].slice(0, recordsMax));
}

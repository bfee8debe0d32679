/** The table columns of Events; the cells are read from the storage version. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { age, type TableColumn } from "@kcp-ts/machinery/table";
import { column, nameCell, objectIn, wideColumn } from "../standard.ts";

export const eventColumns: readonly TableColumn[] = [
  column("Last Seen", "string", "When it was last observed."),
  column("Type", "string", "Normal or Warning."),
  column("Reason", "string", "Why it happened."),
  column("Object", "string", "What it is about."),
  wideColumn("Subobject", "string", "The part of the object that it is about."),
  wideColumn("Source", "string", "Who reported it."),
  column("Message", "string", "What happened."),
  wideColumn("First Seen", "string", "When it was first observed."),
  wideColumn("Count", "string", "How often it happened."),
  { ...wideColumn("Name", "string", "The name of the event."), format: "name" },
];

export function eventCells(event: JsonObject, nowMs: number): JsonValue[] {
  const text = (field: string) => String(event[field] ?? "");
  const involved = objectIn(event, "involvedObject");
  const source = objectIn(event, "source");
  const series = event["series"];
  const since = (time: JsonValue | undefined) => age(time as string | undefined, nowMs);
  const firstSeen = since(event["firstTimestamp"] ?? event["eventTime"]);
  const lastSeen = isJsonObject(series)
    ? since(series["lastObservedTime"])
    : event["lastTimestamp"] === undefined
      ? firstSeen
      : since(event["lastTimestamp"]);
  const count = isJsonObject(series) ? (series["count"] ?? 0) : event["count"] || 1;
  return [
    lastSeen,
    text("type"),
    text("reason"),
    [String(involved["kind"] ?? "").toLowerCase(), involved["name"]].filter(Boolean).join("/"),
    String(involved["fieldPath"] ?? ""),
    [source["component"] || text("reportingComponent"), source["host"] || text("reportingInstance")]
      .filter((part) => part !== "")
      .join(", "),
    text("message").trim(),
    firstSeen,
    count,
    nameCell(event),
  ];
}

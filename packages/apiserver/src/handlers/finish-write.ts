/** A write on its way to being answered: as a client of the definition sees it, and seen by this server itself where that matters. */
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import { presented, type Written } from "../registry/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { type HandlerRequest, type HandlerRooms, uncancelled } from "./context.ts";

/** Looking into larger objects takes some milliseconds: others have their turn before. */
const largeBytes = 32 << 10;

export async function finishWrite(
  written: Written,
  { definition, warnings }: HandlerRequest,
  { watchCache }: HandlerRooms,
): Promise<Written> {
  const { isStored, outcome } = written;
  const entry = await presented(definition, written.entry);
  if (definition.strategy.warnings !== undefined && outcome !== "deleted" && outcome !== "marked") {
    if (entry.value.length > largeBytes) await yieldToEventLoop();
    warnings.push(...definition.strategy.warnings(decodeObject(entry)));
  }
  if (definition.warnings !== undefined) warnings.push(...definition.warnings);
  if (definition.isSeenOnAnswer === true && isStored)
    await watchCache.hub.seen(entry.modifiedAt, uncancelled);
  return entry === written.entry ? written : { ...written, entry };
}

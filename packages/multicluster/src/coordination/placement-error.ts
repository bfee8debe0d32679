/**
 * A placement or rollout setting that cannot be parsed. The message names the field or annotation.
 */
export class PlacementError extends Error {
  override readonly name = "PlacementError";
}

/**
 * Parses query booleans as Kubernetes does: absent, `false` in any case and `0` are false,
 * everything else is true.
 */
export function isTrue(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== "false" && value !== "0";
}

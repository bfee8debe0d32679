/** The command that a user types next about a workload that cannot leave a cluster. */

interface NamedObject {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Undefined where the message of the reason ends with the step. */
export function nextStepFor(reason: string, object: NamedObject): string | undefined {
  const it = `${object.kind.toLowerCase()}/${object.name}`;
  const where = object.namespace === undefined ? "" : ` -n ${object.namespace}`;
  switch (reason) {
    case "Paused":
      return `kubectl annotate ${it}${where} workload.kcp.io/paused-`;
    case "PinnedToCluster":
      return `kubectl label ${it}${where} --overwrite workload.kcp.io/cluster=<other cluster>`;
    case "NoFeasibleCluster":
    case "InvalidPlacement":
    case "OrdinalRangeExhausted":
      return `kubectl kcp explain-placement ${it}${where}`;
    case "IncompatibleAccessMode":
      return object.kind === "PersistentVolumeClaim"
        ? `kubectl annotate pvc ${object.name}${where} workload.kcp.io/volume-migration=detach`
        : undefined;
    case "Migrating":
    case "SurgeLimited":
    case "RolledBack":
      return `kubectl describe ${it}${where}`;
    default:
      return undefined;
  }
}

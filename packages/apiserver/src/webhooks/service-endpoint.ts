/**
 * Resolves a Service and its endpoints to an address that can be called. All of these objects are
 * written by tenants and their clusters, so all members may be anything.
 *
 * The cluster IPs of a logical cluster are not routable, so endpoints are used, as in
 * kube-apiserver with --enable-aggregator-routing, with its error messages. A Service with a load
 * balancer is called through the load balancer, as clients outside its cluster do.
 */
import { type JsonObject, listOf, objectOf, objectsOf, textOf } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";

export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** A ready endpoint of a Service, for one of its ports. */
interface Endpoint extends ServiceAddress {
  readonly family: string;
}

/**
 * The address in the Service itself; undefined when its endpoints have it. Throws when it has no
 * such port.
 */
export function addressOfService(service: JsonObject, port: number): ServiceAddress | undefined {
  const spec = objectOf(service["spec"]);
  const { type = "ClusterIP", externalName } = spec;
  if (type === "ExternalName") return { host: textOf(externalName), port };
  if (type !== "ClusterIP" && type !== "NodePort" && type !== "LoadBalancer")
    throw new Error(`unsupported service type ${quote(textOf(type))}`);
  portOf(service, port);
  if (type !== "LoadBalancer") return undefined;
  const [ingress] = objectsOf(objectOf(objectOf(service["status"])["loadBalancer"])["ingress"]);
  const host = textOf(ingress?.["ip"]) || textOf(ingress?.["hostname"]);
  return host === "" ? undefined : { host, port };
}

/** Any of the ready endpoints, of the Service's preferred IP family if there are such. */
export function addressOfEndpoints(
  service: JsonObject,
  port: number,
  { slices, endpoints }: { slices: readonly JsonObject[]; endpoints: JsonObject | undefined },
  next: () => number,
): ServiceAddress {
  const name = portOf(service, port);
  const found =
    slices.length > 0
      ? slices.flatMap((slice) => endpointsOfSlice(slice, name))
      : objectsOf(endpoints?.["subsets"]).flatMap((subset) => endpointsOfSubset(subset, name));
  const [preferred] = listOf(objectOf(service["spec"])["ipFamilies"]);
  const liked = found.filter(({ family }) => family === preferred);
  const among = liked.length > 0 ? liked : found;
  const chosen = among[Math.floor(next() * among.length)];
  if (chosen === undefined)
    throw new Error(`no endpoints available for service ${quote(nameOf(service))}`);
  return { host: chosen.host, port: chosen.port };
}

/**
 * The name of the port, which endpoints have as well: the port of a Service is not the one that its
 * Pods listen at.
 */
function portOf(service: JsonObject, port: number): string {
  const found = objectsOf(objectOf(service["spec"])["ports"]).find((each) => each["port"] === port);
  if (found === undefined)
    throw new Error(`no service port ${port} found for service ${quote(nameOf(service))}`);
  return textOf(found["name"]);
}

function endpointsOfSlice(slice: JsonObject, portName: string): Endpoint[] {
  const family = textOf(slice["addressType"]);
  if (family !== "IPv4" && family !== "IPv6") return [];
  const port = portNumber(slice, portName);
  if (port === undefined) return [];
  return objectsOf(slice["endpoints"]).flatMap((endpoint) => {
    const [host] = listOf(endpoint["addresses"]);
    const isReady = objectOf(endpoint["conditions"])["ready"] !== false;
    return isReady && typeof host === "string" ? [{ host, port, family }] : [];
  });
}

function endpointsOfSubset(subset: JsonObject, portName: string): Endpoint[] {
  const port = portNumber(subset, portName);
  if (port === undefined) return [];
  return objectsOf(subset["addresses"]).flatMap(({ ip }) =>
    typeof ip === "string" ? [{ host: ip, port, family: ip.includes(":") ? "IPv6" : "IPv4" }] : [],
  );
}

function portNumber(object: JsonObject, portName: string): number | undefined {
  const found = objectsOf(object["ports"]).find(({ name }) => textOf(name) === portName);
  const port = found?.["port"];
  return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536
    ? Number(port)
    : undefined;
}

function nameOf(service: JsonObject): string {
  return textOf(objectOf(service["metadata"])["name"]);
}

import { describe, it } from "node:test";
import { expressionTable } from "../test-support/expression-table.ts";
import { jsonPatchLibrary } from "./jsonpatch.ts";
import { kubernetesEnvironment } from "./kubernetes-environment.ts";

describe("Kubernetes' lists", () => {
  expressionTable(it, [
    ["[1, 2, 2].isSorted() && ![2, 1].isSorted() && ['a', 'b'].isSorted()", "true"],
    ["[1, 3].sum() + [].sum()", "4"],
    ["[1.5, 2.0].sum()", "3.5"],
    ["dyn([1.0, 2.0]).sum()", "3"],
    ["[duration('1m'), duration('1s')].sum() == duration('61s')", "true"],
    ["[9223372036854775807, 1].sum()", "error: integer overflow"],
    ["['a'].sum()", "refused: found no matching overload for 'sum' applied to 'list(string).()'"],
    ["[2, 3, 1].min() + [2, 3, 1].max()", "4"],
    ["['b', 'a'].max()", '"b"'],
    ["[].min()", "error: min called on empty list"],
    ["[1, 2, 2, 3].indexOf(2) + [1, 2, 2, 3].lastIndexOf(2)", "3"],
    ["['a'].indexOf('b')", "-1"],
  ]);
});

describe("list extensions", () => {
  expressionTable(it, [
    ["[1, 2, 3, 4].slice(1, 3)", "[2, 3]"],
    ["[1].slice(0, 2)", "error: cannot slice(0, 2), list is length 1"],
    ["[1].slice(-1, 1)", "error: cannot slice(-1, 1), negative indexes not supported"],
    [
      "[1].slice(1, 0)",
      "error: cannot slice(1, 0), start index must be less than or equal to end index",
    ],
    ["[[1], [2, 3]].flatten()", "[1, 2, 3]"],
    ["[[[1]], [[2]]].flatten(2)", "[1, 2]"],
    ["[1].flatten(-1)", "error: level must be non-negative"],
    ["[3, 1, 2].sort()", "[1, 2, 3]"],
    ["['b', 'a'].sort()", '["a", "b"]'],
    ["[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n)", "[1, 2]"],
    ["[1, 2, 1, 3].distinct()", "[1, 2, 3]"],
    ["['a', 'b', 'a'].distinct()", '["a", "b"]'],
    ["lists.range(3)", "[0, 1, 2]"],
    ["lists.range(3145729)", "error: result exceeds limit: size: 3145729, limit 3145728"],
    ["[1, 2].reverse()", "[2, 1]"],
  ]);
});

describe("sets", () => {
  expressionTable(it, [
    ["sets.contains([1, 2, 3], [2, 3]) && !sets.contains([1], [2])", "true"],
    ["sets.equivalent([1, 2, 2], [2, 1]) && !sets.equivalent([1], [1, 2])", "true"],
    ["sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])", "true"],
  ]);
});

describe("regular expressions", () => {
  expressionTable(it, [
    ["'abc 123'.find('[0-9]+')", '"123"'],
    ["'abc'.find('[0-9]+')", '""'],
    ["'1 a 2 b'.findAll('[0-9]')", '["1", "2"]'],
    ["'1 a 2 b'.findAll('[0-9]', 1)", '["1"]'],
    ["'x'.findAll('[0-9]')", "[]"],
    [
      "'x'.find(')')",
      "refused: program instantiation failed: error parsing regexp: unexpected ): `)`",
    ],
    [
      "'x'.find(dyn('(').startsWith('(') ? '(' : '')",
      "error: Illegal regex: error parsing regexp: missing closing ): `(`",
    ],
  ]);
});

describe("URLs", () => {
  const full = "url('https://user:pw@[::1]:80/a%20b/c d?k1=a&k2=b&k2=c%20d&bad=%zz#f')";
  expressionTable(it, [
    ["isURL('https://a:b:c/')", "false"],
    ["isURL('../relative') || isURL('') || isURL('a b')", "false"],
    [
      "isURL('/absolute') && isURL('https://example.com:80/path?q=v#f') && isURL('mailto:x@y.z')",
      "true",
    ],
    ["isURL('http://a b/')", "false"],
    ["isURL('http://a/%zz')", "false"],
    [
      "url('../relative')",
      'error: URL parse error during conversion from string: parse "../relative": invalid URI for request',
    ],
    [
      "url('http://a:b/')",
      'error: URL parse error during conversion from string: parse "http://a:b/": invalid port ":b" after host',
    ],
    [`${full}.getScheme()`, '"https"'],
    [`${full}.getHost()`, '"[::1]:80"'],
    [`${full}.getHostname()`, '"::1"'],
    [`${full}.getPort()`, '"80"'],
    [`${full}.getEscapedPath()`, '"/a%20b/c%20d"'],
    [`${full}.getQuery()`, '{"k1": ["a"],"k2": ["b", "c d"]}'],
    ["url('/path').getHost() + url('/path').getScheme() + url('/path').getPort()", '""'],
    ["url('https://example.com').getEscapedPath()", '""'],
    [
      "url('https://a/b?x') == url('https://a/b?x') && url('https://a') != url('https://b')",
      "true",
    ],
  ]);
});

describe("IP addresses", () => {
  expressionTable(it, [
    ["isIP('192.168.0.1') && isIP('::1') && isIP('2001:db8::1.2.3.4')", "true"],
    [
      "isIP('192.168.0.01') || isIP('256.0.0.1') || isIP('1.2.3') || isIP('::ffff:1.2.3.4') || isIP('fe80::1%eth0') || isIP('1:2:3')",
      "false",
    ],
    ["isIP('::1::') || isIP('12345::') || isIP(':1') || isIP('')", "false"],
    [
      "ip('1.2.3')",
      'error: IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
    ],
    ["ip('fe80::1%eth0')", 'error: IP address "fe80::1%eth0" with zone value is not allowed'],
    ["ip('::ffff:1.2.3.4')", 'error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
    ["ip('127.0.0.1').family() + ip('::1').family()", "10"],
    [
      "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && !ip.isCanonical('2001:db8::0:0:0:abcd')",
      "true",
    ],
    ["string(ip('2001:db8:0:0:1:0:0:1'))", '"2001:db8::1:0:0:1"'],
    ["ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified()", "true"],
    [
      "ip('127.9.9.9').isLoopback() && ip('::1').isLoopback() && !ip('192.168.0.1').isLoopback()",
      "true",
    ],
    [
      "ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()",
      "true",
    ],
    [
      "ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()",
      "true",
    ],
    [
      "ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast()",
      "true",
    ],
    ["ip('1.2.3.4') == ip('1.2.3.4') && ip('::1') != ip('::2')", "true"],
  ]);
});

describe("address prefixes", () => {
  const words = "network address parse error during conversion from string";
  expressionTable(it, [
    ["isCIDR('192.168.0.0/16') && isCIDR('::1/128') && isCIDR('192.168.0.1/16')", "true"],
    [
      "isCIDR('192.168.0.0/33') || isCIDR('::1/129') || isCIDR('1.2.3.4') || isCIDR('1.2.3.4/08')",
      "false",
    ],
    ["cidr('192.168.0.0')", `error: ${words}: ${words}: netip.ParsePrefix("192.168.0.0"): no '/'`],
    [
      "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
      "true",
    ],
    [
      "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24') && !cidr('192.168.1.0/24').containsCIDR(cidr('192.168.0.0/16'))",
      "true",
    ],
    [
      "cidr('192.168.0.0/16').containsIP('x')",
      'error: IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP',
    ],
    ["string(cidr('192.168.0.1/24').masked())", '"192.168.0.0/24"'],
    [
      "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('::1/64').prefixLength() == 64",
      "true",
    ],
    [
      "cidr('10.0.0.0/8') == cidr('10.0.0.0/8') && cidr('10.0.0.1/8') != cidr('10.0.0.0/8')",
      "true",
    ],
  ]);
});

describe("quantities", () => {
  const wrong =
    "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  expressionTable(it, [
    [
      "isQuantity('1.3Gi') && isQuantity('10000k') && isQuantity('-1e3') && isQuantity('.5')",
      "true",
    ],
    [
      "isQuantity('200K') || isQuantity('Three') || isQuantity('Mi') || isQuantity('') || isQuantity('1,3G')",
      "false",
    ],
    ["quantity('Three')", wrong],
    ["quantity('200K')", "error: unable to parse quantity's suffix"],
    [
      "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').isLessThan(quantity('50Mi'))",
      "true",
    ],
    ["quantity('50k').asInteger()", "50000"],
    [
      "quantity('1.5G').isInteger() && !quantity('1500m').isInteger() && !quantity('9999999999999999999999G').isInteger()",
      "true",
    ],
    ["quantity('1500m').asInteger()", "error: cannot convert value to integer"],
    [
      "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20000) == quantity('30k')",
      "true",
    ],
    ["quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')", "true"],
    ["sign(quantity('-1')) + sign(quantity('0')) + sign(quantity('5Ki'))", "0"],
    ["quantity('1.5').asApproximateFloat()", "1.5"],
    [
      "quantity('1Ki').isGreaterThan(quantity('1k')) && quantity('2').compareTo(quantity('1')) == 1",
      "true",
    ],
    ["quantity('0.1n') == quantity('1n')", "true"],
  ]);
});

describe("semantic versions", () => {
  expressionTable(it, [
    [
      "isSemver('1.0.0') && isSemver('0.1.0-alpha.1+build.5') && !isSemver('v1.0') && !isSemver('01.0.0')",
      "true",
    ],
    ["isSemver('v1.0', true) && isSemver('01.01.01', true) && !isSemver('1.0-x', true)", "true"],
    ["semver('200K')", "error: No Major.Minor.Patch elements found"],
    ["semver('v1.2.3')", 'error: Invalid character(s) found in major number "v1"'],
    ["semver('01.2.3')", 'error: Major number must not contain leading zeroes "01"'],
    [
      "semver('1.2.3').major() * 100 + semver('1.2.3').minor() * 10 + semver('1.2.3').patch()",
      "123",
    ],
    [
      "semver('1.2.3').compareTo(semver('1.2.3-rc.1')) + semver('1.0.0-alpha').compareTo(semver('1.0.0-alpha.1'))",
      "0",
    ],
    [
      "semver('1.0.0-2').isLessThan(semver('1.0.0-11')) && semver('1.0.0-11').isLessThan(semver('1.0.0-a'))",
      "true",
    ],
    [
      "semver('1.2.3+a') == semver('1.2.3+b') && semver('2.0.0').isGreaterThan(semver('1.9.9'))",
      "true",
    ],
  ]);
});

describe("formats", () => {
  const label = "format.dns1123Label()";
  expressionTable(it, [
    [`${label}.validate('my-label')`, "none"],
    [
      `${label}.validate('My-Label').value()[0]`,
      `"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"`,
    ],
    ["format.named('dns1123Subdomain').value().validate('a.b-c.d')", "none"],
    ["format.named('nonsense')", "none"],
    ["format.dns1123LabelPrefix().validate('my-prefix-')", "none"],
    ["format.dns1035Label().validate('1a').hasValue()", "true"],
    ["format.qualifiedName().validate('example.com/MyName')", "none"],
    [
      "format.qualifiedName().validate('a/b/c').hasValue() && format.qualifiedName().validate('/b').hasValue()",
      "true",
    ],
    ["format.labelValue().validate('')", "none"],
    ["format.labelValue().validate('-a').hasValue()", "true"],
    ["format.uri().validate('http://example.com')", "none"],
    ["format.uri().validate('nope').value()", '["parse \\"nope\\": invalid URI for request"]'],
    ["format.uuid().validate('123e4567-e89b-12d3-a456-426614174000')", "none"],
    ["format.uuid().validate('x').value()", '["does not match the UUID format"]'],
    ["format.byte().validate('aGVsbG8=')", "none"],
    ["format.byte().validate('!').value()", '["invalid base64"]'],
    ["format.date().validate('2021-01-01')", "none"],
    ["format.date().validate('2021-02-30').value()", '["invalid date"]'],
    ["format.datetime().validate('2021-01-01T00:00:00Z')", "none"],
    ["format.datetime().validate('2021').value()", '["invalid datetime"]'],
    ["format.uuid() == format.uuid() && format.uuid() != format.date()", "true"],
  ]);
});

describe("JSON patch keys", () => {
  const environment = kubernetesEnvironment.extend({ libraries: [jsonPatchLibrary] });
  expressionTable(
    it,
    [["jsonpatch.escapeKey('k8s.io/my~label')", '"k8s.io~1my~0label"']],
    environment,
  );
});

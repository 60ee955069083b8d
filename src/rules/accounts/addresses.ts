import ipaddr from 'ipaddr.js'

/** Public by its number, but inside Azure it is the host that hands out credentials. */
const INSIDE_CLOUDS = new Set(['168.63.129.16'])

/**
 * Whether an address leads to the public Internet and nowhere else. What Parley fetches for publishers is fetched from
 * such addresses only: any other could be a machine of ours. IPv6 counts where it is assigned to the public (2000::/3);
 * forms that carry an IPv4 address inside (mapped, NAT64, 6to4, Teredo) do not.
 */
export function isPublicAddress(text: string): boolean {
  // Only the one canonical form of four decimals: `0x7f.1` and `2130706433` are names to some and addresses to others.
  if (ipaddr.IPv4.isValidFourPartDecimal(text))
    return ipaddr.IPv4.parse(text).range() === 'unicast' && !INSIDE_CLOUDS.has(text)
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return false
  const address = ipaddr.IPv6.parse(text)
  return address.match(ASSIGNED) && address.range() === 'unicast'
}

/**
 * Returns the address that requests are counted under: an IPv4 address itself, or the IPv6 network that a single customer
 * gets, with its 2^64 addresses.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** A network of all addresses there are, as `0.0.0.0/0`. */
export function isEveryAddress(text: string): boolean {
  return /\/0+$/.test(text) && (ipaddr.IPv4.isValidCIDR(text) || ipaddr.IPv6.isValidCIDR(text))
}

/** One address, or a network as `10.0.0.0/8`; not all there are, because then anybody would be meant. */
export function isAddressOrNetwork(text: string): boolean {
  const isIPv4 = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv4.isValidCIDRFourPartDecimal(text)
  const isIPv6 = text.includes(':') && (ipaddr.IPv6.isValid(text) || ipaddr.IPv6.isValidCIDR(text))
  return (isIPv4 || isIPv6) && !/\/0+$/.test(text)
}

const ASSIGNED = ipaddr.IPv6.parseCIDR('2000::/3')

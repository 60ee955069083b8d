import type { Role } from '../../page.ts'

export const ROLE_OPTIONS: { value: Role; label: string }[] = [
  { value: 'viewer', label: 'Viewer: sees everything, changes nothing' },
  { value: 'developer', label: 'Developer: keys, playground' },
  { value: 'admin', label: 'Admin: also team, wallet and settings' },
  { value: 'owner', label: 'Owner: also deletes things and manages owners' },
]

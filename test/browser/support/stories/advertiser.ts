import type { Scene } from '../page-picture.ts'
import { ADVERTISER_OF_MINE } from '../replies/ids.ts'
import { choose, conflict, fill, inDialog, pick, press } from './steps.ts'

const of = (path: string) => `/advertisers/${ADVERTISER_OF_MINE}${path}`
const SETTINGS = of('/settings')

export const ADVERTISER_STORIES: Record<string, Scene> = {
  'an invitation to an advertiser': {
    path: SETTINGS,
    act: async (page) => {
      await press(page, 'Invite')
      await page.getByRole('dialog').getByLabel('Role').selectOption('viewer')
      await inDialog(page, 'Send invitation', { Email: 'gil@lamps.example.com' })
    },
  },
  'an invitation to an advertiser that is withdrawn': {
    path: SETTINGS,
    act: (page) => press(page, 'Withdraw the invitation to gil@lamps.example.com'),
  },
  'a member of an advertiser with another role': {
    path: SETTINGS,
    act: (page) => pick(page, 'Actions for Ben Ode', 'admin'),
  },
  'the last admin of an advertiser, who cannot leave': {
    path: SETTINGS,
    replies: { 'POST /api/advertisers/:advertiser/leave': conflict },
    act: async (page) => {
      await pick(page, 'Actions for Ada Keller', 'Leave')
      await inDialog(page, 'Leave')
    },
  },
  'hints that are tried before they are saved': {
    path: of('/campaigns'),
    act: async (page) => {
      await press(page, 'New campaign')
      await fill(page, { 'Who it is for': 'for people who read at night\n\n for small desks ' })
      await page.getByText('They fit 1 of 4').waitFor()
      await page.getByText('that they do not fit').click()
    },
  },
  'hints without a matcher': {
    path: of('/campaigns'),
    replies: { 'POST /api/advertisers/:advertiser/hint-preview': { samples: null, nearEnough: null } },
    act: async (page) => {
      await press(page, 'New campaign')
      await fill(page, { 'Who it is for': 'for people who read at night' })
      await page.getByText('No preview right now').waitFor()
    },
  },
  'a report by hint, of one campaign and a week': {
    path: of('/reports'),
    act: async (page) => {
      await choose(page, 'Rows', 'By hint')
      await choose(page, 'Campaign', 'Desk lamps')
      await choose(page, 'Time range', 'Last 7 days')
    },
  },
}

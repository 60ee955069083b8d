import { lazyRouteComponent } from '@tanstack/react-router'
import { Rss } from 'lucide-react'
import { definePage } from '../../page.ts'

export const pages = [
  definePage({
    scope: 'advertiser',
    path: 'feeds',
    label: 'Feeds',
    keywords: 'products upload import csv tsv xml json shopify url address',
    component: lazyRouteComponent(() => import('./feeds-page.tsx'), 'FeedsPage'),
    nav: { group: 'project', order: 30, icon: Rss },
  }),
  definePage({
    scope: 'advertiser',
    path: 'feeds/$feed',
    label: 'Feed',
    component: lazyRouteComponent(() => import('./feed-page.tsx'), 'FeedPage'),
  }),
  definePage({
    scope: 'advertiser',
    path: 'feeds/uploads/$upload',
    label: 'Uploaded feed',
    component: lazyRouteComponent(() => import('./upload-page.tsx'), 'UploadPage'),
  }),
]
